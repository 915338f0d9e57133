package replay

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// compare describes the differences between a recorded and a new request that mode does not allow.
func compare(recorded, made *asked, mode Mode) []string {
	var differences []string
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	if recorded.Operation != made.Operation {
		differ("it is a request for %s, and the recorded one is for %s", operation(made.Operation), operation(recorded.Operation))
	}
	if recorded.Purpose != made.Purpose {
		differ("its purpose is %s, and the recorded one is %s", made.Purpose, recorded.Purpose)
	}
	if mode == Strict {
		if recorded.Model != made.Model {
			differ("its model is %q, and the recorded one is %q", made.Model, recorded.Model)
		}
		if recorded.System != made.System {
			differ("its system prompt differs")
		}
		if recorded.Settings != made.Settings {
			differ("its settings (temperature, length, choice of tools, schema of the answer) differ")
		}
	}
	differences = append(differences, compareTools(recorded.Tools, made.Tools, mode)...)
	for i := range max(len(recorded.Turns), len(made.Turns)) {
		switch {
		case i >= len(made.Turns):
			differ("turn %d (%s) is missing", i+1, describe(recorded.Turns[i]))
		case i >= len(recorded.Turns):
			differ("turn %d (%s) is new", i+1, describe(made.Turns[i]))
		default:
			differences = append(differences, compareTurn(i+1, recorded.Turns[i], made.Turns[i], mode)...)
		}
	}
	return differences
}

func compareTools(recorded, made []tool, mode Mode) []string {
	var differences []string
	before := map[string]sum{}
	for _, t := range recorded {
		before[t.Name] = t.Sum
	}
	for _, t := range made {
		was, ok := before[t.Name]
		switch {
		case !ok:
			differences = append(differences, "the tool "+t.Name+" is offered and was not when recorded")
		case was != t.Sum && mode == Strict:
			differences = append(differences, "the tool "+t.Name+" has a different declaration")
		}
		delete(before, t.Name)
	}
	for _, t := range recorded {
		if _, missing := before[t.Name]; missing {
			differences = append(differences, "the tool "+t.Name+" is not offered and was when recorded")
		}
	}
	if len(differences) == 0 && mode == Strict {
		for i := range made {
			if made[i].Name != recorded[i].Name {
				return []string{"the tools are in a different order"}
			}
		}
	}
	return differences
}

func compareTurn(number int, recorded, made turn, mode Mode) []string {
	var differences []string
	if recorded.Role != made.Role {
		differences = append(differences, fmt.Sprintf("turn %d is of the %s, and the recorded one of the %s", number, who(made.Role), who(recorded.Role)))
	}
	for i := range max(len(recorded.Parts), len(made.Parts)) {
		where := fmt.Sprintf("turn %d, part %d", number, i+1)
		switch {
		case i >= len(made.Parts):
			differences = append(differences, where+" ("+recorded.Parts[i].describe()+") is missing")
		case i >= len(recorded.Parts):
			differences = append(differences, where+" ("+made.Parts[i].describe()+") is new")
		case !recorded.Parts[i].like(made.Parts[i], mode):
			differences = append(differences, where+" is "+made.Parts[i].describe()+", and the recorded one is "+recorded.Parts[i].describe())
		}
	}
	return differences
}

func (p piece) like(other piece, mode Mode) bool {
	if mode == Loose {
		return p.Kind == other.Kind && p.Loose == other.Loose
	}
	return p.Kind == other.Kind && p.Sum == other.Sum
}

// describe returns a description of a part: its beginning and its hash. The hash distinguishes parts that differ
// further on.
func (p piece) describe() string {
	return fmt.Sprintf("%s “%s” [%s]", p.Kind, p.Shows, p.Sum)
}

func describe(t turn) string {
	texts := []string{"the " + who(t.Role) + "'s"}
	for _, p := range t.Parts {
		texts = append(texts, p.describe())
	}
	return strings.Join(texts, ", ")
}

func who(r model.Role) string {
	if r == model.RoleModel {
		return "model"
	}
	return "user"
}

func operation(name string) string {
	if name == opCount {
		return "a number of tokens"
	}
	return "an answer"
}

// sentence joins a limited number of the differences.
func sentence(differences []string) string {
	const most = 5
	if rest := len(differences) - most; rest > 0 {
		differences = append(differences[:most:most], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(differences, "; ")
}
