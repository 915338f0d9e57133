package shell

import "strings"

// Interprets reports whether a program, by its base name in any version, runs
// code in its arguments or its input.
func Interprets(program string) bool {
	_, found := interpreterOf(program)
	return found
}

// Module returns the module that an interpreter runs, like python3 -Bm pip or -mpip,
// and the index of the first word after it. It returns "" for any other command.
func Module(words []string) (name string, next int) {
	row, found := interpreterOf(strings.ToLower(programName(known(words[0]))))
	if !found {
		return "", 0
	}
	for i := 1; i < len(words); i++ {
		w := words[i]
		if len(w) < 2 || w[0] != '-' || w[1] == '-' {
			return "", 0
		}
		switch kind, ends := row.letters(w[1:]); {
		case ends:
			if _, name, _ = strings.Cut(w, row.ends); name == "" && i+1 < len(words) {
				i++
				name = words[i]
			}
			return strings.TrimSuffix(name, ".__main__"), i + 1
		case kind == codeLetter:
			return "", 0
		case kind == valueLetter:
			i++
		}
	}
	return "", 0
}
