package approval

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/escape"
)

// question is question number n of the questions of a tool.
type question struct {
	bus.UserQuestion
	n, all int
}

// render returns the text above the prompt.
func (q question) render(columns int, colour bool) string {
	var b strings.Builder
	b.WriteByte('\n')
	head := display.Line(q.Header)
	if q.all > 1 {
		head = strings.TrimSpace(fmt.Sprintf("%s (%d of %d)", head, q.n, q.all))
	}
	if head != "" {
		b.WriteString(display.Paint(display.StyleBold, head, colour) + "\n")
	}
	b.WriteString(display.Wrap(display.Printable(q.Question), "", columns))
	if q.Type == bus.QuestionChoice {
		for i, o := range q.Options {
			number := fmt.Sprintf("%3d  ", i+1)
			label := display.Wrap(display.Line(o.Label), "     ", columns)
			b.WriteString(display.Paint(display.StyleBold, number, colour) + strings.TrimPrefix(label, "     "))
			if o.Description != "" {
				b.WriteString(display.Paint(display.StyleDim, strings.TrimSuffix(display.Wrap(display.Printable(o.Description), "     ", columns), "\n"), colour) + "\n")
			}
		}
	}
	return b.String()
}

// prompt returns the text before the answer.
func (q question) prompt(colour bool) string {
	if q.Default != "" {
		return display.Paint(display.StyleDim, "(Enter: "+display.Line(escape.Clip(q.Default, 40))+") ", colour) + q.bare(colour)
	}
	return q.bare(colour)
}

func (q question) bare(colour bool) string {
	switch {
	case q.Type == bus.QuestionYesNo:
		return display.Paint(display.StyleBold, "[y]", colour) + "es  " + display.Paint(display.StyleBold, "[n]", colour) + "o > "
	case q.Type == bus.QuestionChoice && len(q.Options) > 0:
		numbers := fmt.Sprintf("[1-%d]", len(q.Options))
		if q.MultiSelect {
			return display.Paint(display.StyleBold, numbers, colour) + " several as 1,2, or your own answer > "
		}
		return display.Paint(display.StyleBold, numbers, colour) + " or your own answer > "
	case q.Placeholder != "":
		return "your answer " + display.Paint(display.StyleDim, "(for example "+display.Line(q.Placeholder)+")", colour) + " > "
	}
	return "your answer > "
}

// answer converts a typed line, which is not blank, to an answer. The error is for
// the user.
func (q question) answer(line string) (string, error) {
	line = strings.ToValidUTF8(strings.TrimSpace(line), "\ufffd")
	switch q.Type {
	case bus.QuestionYesNo:
		switch strings.ToLower(line) {
		case "y", "yes":
			return "yes", nil
		case "n", "no":
			return "no", nil
		}
		return "", errors.New("type y or n")
	case bus.QuestionChoice:
		return q.choice(line)
	}
	return line, nil
}

// choice returns the labels of the options that a line names by number or by label,
// otherwise the line itself.
func (q question) choice(line string) (string, error) {
	for _, o := range q.Options {
		if strings.EqualFold(line, strings.TrimSpace(o.Label)) {
			return o.Label, nil
		}
	}
	numbers, ok := numbersIn(line)
	if !ok {
		return line, nil
	}
	if len(numbers) > 1 && !q.MultiSelect {
		return "", errors.New("choose one of the options")
	}
	var labels []string
	for i, o := range q.Options { // in the order of the options
		if slices.Contains(numbers, i+1) {
			labels = append(labels, o.Label)
		}
	}
	for _, n := range numbers {
		if n < 1 || n > len(q.Options) {
			return "", fmt.Errorf("there is no option %d", n)
		}
	}
	return strings.Join(labels, ", "), nil
}

// numbersIn returns the numbers in a line that consists of numbers separated by
// commas or blanks.
func numbersIn(line string) (numbers []int, ok bool) {
	for _, field := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, len(numbers) > 0
}
