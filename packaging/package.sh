#!/bin/sh
# Makes a package of the bundle this script lies in: package.sh deb|rpm [DIRECTORY]. Needs dpkg-deb or rpmbuild, no root, no network.
# The package runs with the system's Python of the version it was made with; PYTHON names another one that nodes have too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
kind=${1:-}
out=${2:-.}
export PYTHON="${PYTHON:-/usr/bin/python3}"
case "$kind" in
    deb) tool=dpkg-deb ;;
    rpm) tool=rpmbuild ;;
    *) echo "usage: package.sh deb|rpm [DIRECTORY]" >&2; exit 2 ;;
esac
command -v "$tool" >/dev/null || { echo "package.sh: needs $tool" >&2; exit 3; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$(basename "$here"/wheels/penstock-*.whl | cut -d- -f2)
python=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
next=$("$PYTHON" -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR="$stage/root" "$here/install.sh" 2>/dev/null
# A package's own files belong below /usr; /etc is the administrator's.
mkdir -p "$stage/root/usr/lib/systemd" "$stage/root/usr/share"
mv "$stage/root/etc/systemd/system" "$stage/root/usr/lib/systemd/system"
mv "$stage/root/etc/sysusers.d" "$stage/root/etc/tmpfiles.d" "$stage/root/usr/lib/"
mv "$stage/root/usr/local/share/man" "$stage/root/usr/share/man"
mv "$stage/root/usr/local/bin" "$stage/root/usr/bin"
rm -rf "$stage/root/usr/local" "$stage/root/etc/systemd"
chmod -R go+rX "$stage/root"

if [ "$kind" = deb ]; then
    mkdir "$stage/root/DEBIAN"
    sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$(dpkg --print-architecture)/" -e "s/@PYTHON@/$python/" \
        -e "s/@NEXT@/$next/" "$here/deb/control" > "$stage/root/DEBIAN/control"
    echo /etc/penstock/agent.toml > "$stage/root/DEBIAN/conffiles"
    for script in postinst prerm postrm; do
        install -m 755 "$here/deb/$script" "$stage/root/DEBIAN/$script"
    done
    dpkg-deb --root-owner-group --build "$stage/root" "$out" >/dev/null
    ls "$out"/penstock_"$version"_*.deb
else
    rpmbuild -bb --quiet --define "_topdir $stage/rpm" --define "version $version" --define "tree $stage/root" \
        --define "interpreter $(readlink -f "$PYTHON")" "$here/rpm/penstock.spec" >&2
    cp "$stage"/rpm/RPMS/*/penstock-*.rpm "$out"
    ls "$out"/penstock-"$version"-*.rpm
fi
