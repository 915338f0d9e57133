package policy

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// reordered returns other spellings of a command's options.
func reordered(words []string) []string {
	row := habitsOf[family(words[0])]
	var names, longs []string
	letters := ""
	for i, w := range words[1:] {
		switch {
		case w == "--":
			names = append(names, words[i+2:]...)
		case strings.HasPrefix(w, "--"), isOption(w) && (row.singleDash || len(w) > 5 || hasHoles(w)):
			longs = append(longs, w)
		case isOption(w):
			for _, c := range w[1:] {
				if !strings.ContainsRune(letters, c) {
					letters += string(c)
				}
			}
		case row.refspecs && strings.HasPrefix(w, "+") && len(names) > 0 && names[0] == "push":
			longs, names = append(longs, "--force"), append(names, w[1:])
		case row.refspecs && strings.HasPrefix(w, ":") && len(names) > 0 && names[0] == "push":
			longs, names = append(longs, "--delete"), append(names, w[1:])
		default:
			names = append(names, w)
		}
		if w == "--" {
			break
		}
	}
	if letters == "" && len(longs) == 0 {
		return nil
	}
	var all []string
	place := func(options []string) {
		lead := []string{words[0]}
		rest := names
		if shell.Subcommands(programName(words[0])) && len(rest) > 0 {
			lead, rest = append(lead, rest[0]), rest[1:]
		}
		all = append(all, strings.Join(slices.Concat(lead, options, rest), " "))
		if len(rest) > 0 && len(options) > 0 && !slices.ContainsFunc(rest, hasHoles) {
			all = append(all, strings.Join(slices.Concat(lead, rest, options), " "))
		}
	}
	short, long := row.both(letters, longs)
	sets := []string{short}
	if other := row.otherLetters(short); other != short {
		sets = append(sets, other)
	}
	for _, set := range sets {
		for _, subset := range subsets(set) {
			for _, order := range permutations(subset) {
				place(append([]string{"-" + order}, long...))
				if apart := strings.Split(order, ""); len(apart) > 1 {
					for k := range apart {
						apart[k] = "-" + apart[k]
					}
					place(append(apart, long...))
				}
				if len(long) > 0 {
					place([]string{"-" + order})
				}
			}
		}
	}
	spelledOut := slices.Clone(longs)
	for _, c := range letters {
		if name := row.long[c]; name != "" && !slices.Contains(spelledOut, "--"+name) {
			spelledOut = append(spelledOut, "--"+name)
		}
	}
	place(spelledOut)
	for _, one := range spelledOut {
		place([]string{one})
	}
	return all
}

// both returns options by their letters if they have one, and the others.
func (h habits) both(letters string, longs []string) (short string, rest []string) {
	short = letters
	for _, long := range longs {
		found := false
		for _, c := range sortedLetters(h.long) {
			if full := "--" + h.long[c]; full == long || abbreviates(long, full) {
				if !strings.ContainsRune(short, c) {
					short += string(c)
				}
				found = true
				break
			}
		}
		if !found {
			rest = append(rest, long)
		}
	}
	return short, rest
}

// otherLetters replaces each letter by another one of the same meaning if there
// is one, such as R for r.
func (h habits) otherLetters(letters string) string {
	return strings.Map(func(c rune) rune {
		for _, other := range sortedLetters(h.long) {
			if other != c && h.long[c] != "" && h.long[other] == h.long[c] {
				return other
			}
		}
		return c
	}, letters)
}

func sortedLetters(long map[rune]string) []rune {
	letters := make([]rune, 0, len(long))
	for c := range long {
		letters = append(letters, c)
	}
	slices.Sort(letters)
	return letters
}

// subsets returns the letters and, if there are few, also each set without one of them.
func subsets(letters string) []string {
	if letters == "" {
		return nil
	}
	all := []string{letters}
	if len(letters) > 1 && len(letters) <= 4 {
		for i := range letters {
			all = append(all, letters[:i]+letters[i+1:])
		}
	}
	return all
}

// permutations returns the permutations of a few letters; for many only the given
// order.
func permutations(letters string) []string {
	if len(letters) > 3 || len(letters) < 2 {
		return []string{letters}
	}
	var all []string
	for i := range letters {
		for _, rest := range permutations(letters[:i] + letters[i+1:]) {
			all = append(all, letters[i:i+1]+rest)
		}
	}
	return all
}
