"""Groups of commands that suggest the nearest command. It imports next to nothing, because every start needs it."""

from __future__ import annotations

import click

from penstock.errors import did_you_mean


class SuggestingGroup(click.Group):
    """A group in which an unknown command is told with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but in our words."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            ctx.fail(f"no such command {args[0]!r}{did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)
