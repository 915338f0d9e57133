"""Prints a receipt on the wide printer."""

from prices import format_cents, price, total

WIDTH = 48


def line(item):
    """Return one line of the receipt."""
    text = format_cents(price(item))
    return item + text.rjust(WIDTH - len(item))


def receipt(items):
    """Return the whole receipt as text."""
    lines = [line(item) for item in sorted(items)]
    lines.append("-" * WIDTH)
    lines.append(format_cents(total(items)).rjust(WIDTH))
    return "\n".join(lines)
