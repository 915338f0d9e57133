package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/fettle-dev/fettle/core/fault"
)

// merged is the result of merging the layers.
type merged struct {
	settings Settings
	problems []fault.Problem
	origins  map[string][]Origin
}

// joiner merges layers in a viper instance of its own. The instance holds all
// keys except maps: defaults as viper's defaults, files and environment variables
// as configuration in the order of layers, flags as overrides. Viper's own
// support for environment variables is not used, because it reads those of the
// process and not Options.Environ. Viper is case-insensitive, also in maps, so
// maps are held in objects.
type joiner struct {
	o       Options
	store   *viper.Viper
	objects map[string]any // by path
	origins map[string][]Origin
	// confined states that commands are confined; it is known once the keys about
	// confinement are merged.
	confined bool
}

// merge merges the layers in order of increasing precedence. The keys about
// confinement come first, because they restrict the keys that a project may set.
func merge(o Options, all []*layerOf) (merged, error) {
	j := newJoiner(o)
	m := merged{settings: defaultsIn(o.layout()), origins: j.origins}
	for _, confining := range []bool{true, false} {
		keys := slices.DeleteFunc(slices.Clone(known().keys), func(k *Key) bool { return strings.HasPrefix(k.Path, "tools.sandbox.") != confining })
		for _, l := range all {
			if err := j.join(keys, l); err != nil {
				return merged{}, err
			}
		}
		target := reflect.ValueOf(&m.settings).Elem()
		for _, k := range keys {
			if len(j.origins[k.Path]) == 0 {
				continue // the default
			}
			if v := j.get(k); v != nil {
				if err := k.assign(target, v); err != nil {
					return merged{}, unmergeable(k.Path, err)
				}
			}
		}
		j.confined = o.Confined || m.settings.Tools.Sandbox.Confines()
	}
	for _, l := range all {
		slices.SortStableFunc(l.problems, func(a, b fault.Problem) int {
			return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		m.problems = append(m.problems, l.problems...)
	}
	return m, nil
}

// newJoiner returns a joiner that contains only the defaults.
func newJoiner(o Options) *joiner {
	return &joiner{
		o: o, objects: map[string]any{}, origins: map[string][]Origin{},
		store: viper.NewWithOptions(viper.KeyDelimiter("::")), // not part of any key, so that keys are not split
	}
}

// get returns the merged value of a key so far, nil for none. It sets the default
// first, because few keys are ever looked up. Maps have no defaults.
func (j *joiner) get(k *Key) any {
	if k.kind == aMap {
		return j.objects[k.Path]
	}
	if value, ok := defaultIn(j.o.layout(), k.Path); ok {
		j.store.SetDefault(k.Path, value)
	}
	return j.store.Get(k.Path)
}

// join merges a layer's values of some keys over the previous ones.
func (j *joiner) join(keys []*Key, l *layerOf) error {
	given := map[string]any{}
	for _, k := range keys {
		e := l.entries[k.Path]
		if e == nil {
			continue
		}
		lower, value := j.get(k), e.value
		origin := Origin{Layer: l.layer, Source: e.source, Line: e.line, Column: e.column, Value: e.written, Filled: e.filled, OfProject: l.ofProject || e.ofProject, secrets: e.secrets, spots: e.spots}
		if l.ofProject || e.ofProject && k.ofWall() {
			if value, origin.Refused = j.fromProject(k, value, lower); origin.Refused != "" {
				j.refuse(l, e, origin.Refused)
			}
			origin.byTrust = l.layer == LayerProject && value != nil && j.byTrust(k, value, lower)
		}
		origin.took = value != nil
		origin.takes, _ = value.([]any)
		origin.hooks = hooksOf(e, value)
		j.origins[k.Path] = append(j.origins[k.Path], origin)
		if value == nil {
			continue
		}
		value = combine(k.Merge, lower, value)
		switch {
		case k.kind == aMap:
			j.objects[k.Path] = value
		case l.layer == LayerFlags:
			j.store.Set(k.Path, value)
		default:
			given[k.Path] = value
		}
	}
	if err := j.store.MergeConfigMap(given); err != nil {
		return unmergeable(l.source, err)
	}
	return nil
}

// confiner reports whether a merged layer sets the program that confines
// commands.
func (j *joiner) confiner() bool {
	command, image := known().byPath["tools.sandbox.command"], known().byPath["tools.sandbox.image"]
	named := func(value any) bool {
		return value != nil && value != "" && value != string(SandboxAuto) && value != sandboxNone
	}
	return named(j.get(command)) || named(j.get(image))
}

// refuse reports that a project may not set a value.
func (j *joiner) refuse(l *layerOf, e *entry, why string) {
	p := fault.Problem{Path: e.source, Line: e.line, Column: e.column, Key: e.key.Path, Kind: KindUntrusted, Severity: Warning, Message: why,
		Remedy: "Set it in your own settings, or trust the directory with fettle trust."}
	if !l.ofProject {
		p.Message = "A variable in it comes from a .env file of the project. " + why
	}
	if j.o.Trusted {
		p.Kind = KindProject
	}
	if j.o.Trusted || e.key.ofWall() {
		p.Remedy = "Set it in your own settings."
	}
	l.report(p)
}

// unmergeable returns an error of fettle itself: validated values can be merged.
func unmergeable(what string, err error) error {
	return fault.Wrap(fault.InvalidConfig, "settings.load", fmt.Sprintf("The settings cannot be merged, because of %s: %v.", what, err), "This is a defect in fettle; report it.", err)
}

// last sorts the problem about unlisted problems to the end.
func last(p fault.Problem) int {
	if p.Kind == KindMore {
		return 1
	}
	return 0
}

// fromProject returns the project's contribution to a key, nil for none, and the
// reason if it is not the complete value.
func (j *joiner) fromProject(k *Key, value, lower any) (result any, refused string) {
	switch {
	case k.Project == ProjectNever:
		return nil, "A project may not set this; the key has no effect here."
	case k.Outside && j.confined:
		return nil, "Commands are confined, and the program or address in this value would be outside the confinement. Because commands can write the project's files, " +
			"a project may not set this; the key has no effect here."
	case j.o.Trusted && !k.Always, j.o.Trusted && value == noProgram && !j.confiner():
		return value, ""
	case k.Project == ProjectLandlock && value == string(SandboxAuto) && !j.confiner() && j.get(known().byPath["tools.sandbox.enabled"]) != true:
		return value, "" // no layer below confines every command
	case k.Project == ProjectLandlock && lower != value && j.confiner():
		lower = noProgram // an image alone requests a container as well
	}
	if k.Path == "tools.core" && lower == nil {
		if j.o.DefaultTools == nil {
			return nil, "Because the directory is not trusted, its project may not select the tools."
		}
		list := []any{}
		for _, name := range j.o.DefaultTools {
			list = append(list, name)
		}
		lower = list
	}
	result, ok, whole := k.Project.tighten(value, lower)
	switch {
	case !ok && k.Always:
		return nil, fmt.Sprintf("A project may make the confinement of commands stricter, but not weaker, because commands can write its files; %s has no effect.", quote(value))
	case !ok && (k.Project == ProjectTrusted):
		return nil, "Because the directory is not trusted, its project may not set this; the key has no effect."
	case !ok:
		return nil, fmt.Sprintf("Because the directory is not trusted, its project may only make this stricter; %s has no effect.", quote(value))
	case !whole:
		return result, "Because the directory is not trusted, its project may only make this stricter; new entries are ignored."
	}
	return result, ""
}

// byTrust reports whether an untrusted project would lose its value, or a part of
// it.
func (j *joiner) byTrust(k *Key, value, lower any) bool {
	if !j.o.Trusted {
		return false
	}
	untrusted := *j
	untrusted.o.Trusted = false
	_, refused := untrusted.fromProject(k, value, lower)
	return refused != ""
}

// assign sets the field of a key to a validated value.
func (k *Key) assign(settings reflect.Value, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	field := reflect.New(settings.FieldByIndex(k.index).Type())
	if err := json.Unmarshal(text, field.Interface()); err != nil {
		return err
	}
	settings.FieldByIndex(k.index).Set(field.Elem())
	return nil
}

// combine merges a layer's value with that of the layers below, nil for none.
func combine(m Merge, lower, value any) any {
	switch m {
	case Concat, Union:
		switch v := value.(type) {
		case []any:
			below, _ := lower.([]any)
			list := append([]any{}, below...)
			there := textsOf(below)
			for _, part := range v {
				text, isText := part.(string)
				if m == Union && isText && there[text] {
					continue
				}
				there[text] = there[text] || isText
				list = append(list, part)
			}
			return list
		case map[string]any:
			merged := cloneMap(lower)
			for name, part := range v {
				merged[name] = combine(m, merged[name], part)
			}
			return merged
		}
	case Shallow:
		if v, ok := value.(map[string]any); ok {
			merged := cloneMap(lower)
			for name, part := range v {
				merged[name] = part
			}
			return merged
		}
	case Replace:
	}
	return value
}

// textsOf returns the set of the texts in a list.
func textsOf(list []any) map[string]bool {
	set := map[string]bool{}
	for _, part := range list {
		if text, ok := part.(string); ok {
			set[text] = true
		}
	}
	return set
}

func cloneMap(value any) map[string]any {
	merged := map[string]any{}
	if m, ok := value.(map[string]any); ok {
		for name, part := range m {
			merged[name] = part
		}
	}
	return merged
}
