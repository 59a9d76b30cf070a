// A click on a heading sorts its table; numbers and sizes by value, a second click the other way round.
const scale = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const number = (text) => parseFloat(text) * (scale[text.split(" ")[1]] ?? 1);
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[at].textContent.trim();
      const order = (a, b) => {
        const [x, y] = [number(value(a)), number(value(b))];
        if (Number.isNaN(x) || Number.isNaN(y)) return value(a).localeCompare(value(b));
        return x - y;
      };
      const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? -order(a, b) : order(a, b)));
      table.tBodies[0].append(...rows);
    });
  });
}
