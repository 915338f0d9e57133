package skills

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

//go:embed builtin/*/SKILL.md
var own embed.FS

// BuiltIn returns the built-in skills, which are read once and shared: they must not be
// changed. The error is a problem in one of them.
func BuiltIn() ([]Skill, error) {
	all, err := readBuiltIn()
	return slices.Clip(all), err
}

var readBuiltIn = sync.OnceValues(func() ([]Skill, error) {
	files, err := fs.Glob(own, path.Join("builtin", "*", fileName))
	if err != nil {
		return nil, err
	}
	var all []Skill
	for _, name := range files {
		data, err := own.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s := Skill{Scope: ScopeBuiltIn}
		if problems, _ := s.parse(data); len(problems) > 0 {
			return nil, fault.New(fault.InvalidConfig, "skills.load", problems[0].Message, problems[0].Remedy)
		}
		all = append(all, s)
	}
	return all, nil
})
