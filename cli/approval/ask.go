package approval

import (
	"context"
	"strings"
)

// Ask asks for a line of text, without echo if it is hidden. ok is false at the end of
// input. The error is that of ctx, or of a terminal that cannot hide input.
func (i *Prompter) Ask(ctx context.Context, question string, hidden bool) (answer string, ok bool, err error) {
	i.lines.discard(i.tty)
	i.Printf("%s > ", question)
	if hidden {
		answer, err = readHidden(ctx, i.tty)
		i.Printf("\n")
		return strings.TrimSpace(answer), err == nil, err
	}
	line, err := i.lines.Read(ctx)
	if ctx.Err() != nil {
		i.Printf("\n")
		return "", false, ctx.Err()
	}
	return strings.TrimSpace(line), err == nil, nil
}
