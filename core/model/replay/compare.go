package replay

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/model"
)

// compare returns what differs between a recorded request and one that is made,
// in words; nothing: the mode takes it.
func compare(recorded, made *asked, mode Mode) []string {
	var differences []string
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	if recorded.Operation != made.Operation {
		differ("it asks for %s, recorded was one for %s", operation(made.Operation), operation(recorded.Operation))
	}
	if recorded.Purpose != made.Purpose {
		differ("its purpose is %s, recorded was %s", made.Purpose, recorded.Purpose)
	}
	if mode == Strict {
		if recorded.Model != made.Model {
			differ("its model is %q, recorded was %q", made.Model, recorded.Model)
		}
		if recorded.System != made.System {
			differ("its system prompt is another")
		}
		if recorded.Settings != made.Settings {
			differ("its settings (temperature, length, choice of tools, schema of the answer) are others")
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
			differences = append(differences, "the tool "+t.Name+" is offered, which was not")
		case was != t.Sum && mode == Strict:
			differences = append(differences, "the tool "+t.Name+" is declared in other words")
		}
		delete(before, t.Name)
	}
	for _, t := range recorded {
		if _, missing := before[t.Name]; missing {
			differences = append(differences, "the tool "+t.Name+" is not offered, which was")
		}
	}
	if len(differences) == 0 && mode == Strict {
		for i := range made {
			if made[i].Name != recorded[i].Name {
				return []string{"the tools are offered in another order"}
			}
		}
	}
	return differences
}

func compareTurn(number int, recorded, made turn, mode Mode) []string {
	var differences []string
	if recorded.Role != made.Role {
		differences = append(differences, fmt.Sprintf("turn %d is the %s's, recorded was the %s's", number, who(made.Role), who(recorded.Role)))
	}
	for i := range max(len(recorded.Parts), len(made.Parts)) {
		where := fmt.Sprintf("turn %d, part %d", number, i+1)
		switch {
		case i >= len(made.Parts):
			differences = append(differences, where+" ("+recorded.Parts[i].words()+") is missing")
		case i >= len(recorded.Parts):
			differences = append(differences, where+" ("+made.Parts[i].words()+") is new")
		case !recorded.Parts[i].like(made.Parts[i], mode):
			differences = append(differences, where+" is "+made.Parts[i].words()+", recorded was "+recorded.Parts[i].words())
		}
	}
	return differences
}

func (p piece) like(other piece, mode Mode) bool {
	if mode == Loose {
		return p.What == other.What && p.Loose == other.Loose
	}
	return p.What == other.What && p.Sum == other.Sum
}

// words names a part with its beginning. Two that differ further on look alike,
// so that the hash is shown too.
func (p piece) words() string {
	return fmt.Sprintf("%s “%s” [%s]", p.What, p.Shows, p.Sum)
}

func describe(t turn) string {
	texts := []string{"the " + who(t.Role) + "'s"}
	for _, p := range t.Parts {
		texts = append(texts, p.words())
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

// sentence joins what differs, a bounded part of it.
func sentence(differences []string) string {
	const most = 5
	if rest := len(differences) - most; rest > 0 {
		differences = append(differences[:most:most], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(differences, "; ")
}
