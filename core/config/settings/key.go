package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Merge specifies how a layer's value is merged with that of the layers below.
type Merge string

// The ways to merge.
const (
	Replace Merge = "replace" // it replaces the lower value
	Concat  Merge = "concat"  // its entries follow the lower ones; in a map of lists, by name
	Union   Merge = "union"   // like Concat, without duplicate entries
	Shallow Merge = "shallow" // an entry of a map replaces the one of the same name as a whole
)

// ProjectRule specifies the values that the settings file of an untrusted project
// may set: none of them loosens a restriction.
type ProjectRule string

// The rules.
const (
	ProjectFree     ProjectRule = "free"     // any value: it neither loosens nor tightens
	ProjectTrusted  ProjectRule = "trusted"  // nothing
	ProjectNever    ProjectRule = "never"    // nothing, even if the directory is trusted
	ProjectTrue     ProjectRule = "true"     // only true
	ProjectFalse    ProjectRule = "false"    // only false
	ProjectAdd      ProjectRule = "add"      // entries in addition to those of lower layers
	ProjectWithin   ProjectRule = "within"   // entries that are in the list without it
	ProjectLower    ProjectRule = "lower"    // a lower number above 0; 0 and less have no limit
	ProjectStricter ProjectRule = "stricter" // a stricter approval mode
	ProjectLandlock ProjectRule = "landlock" // landlock, if there is no other confinement
)

// protects reports whether an invalid value must not leave the key open: a value
// that the rule permits to every source replaces it.
func (r ProjectRule) protects() bool {
	return !slices.Contains([]ProjectRule{ProjectFree, ProjectTrusted, ProjectNever}, r)
}

// protects reports whether a key, or one of a group, protects.
func (n *node) protects() bool {
	if n.key != nil {
		return !n.key.Unused && (n.key.Project.protects() || n.key.Project == ProjectNever)
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(n.below)), (*node).protects)
}

// ofWall reports whether even a trusted project may not set the key freely.
func (k *Key) ofWall() bool { return k.Always || k.Outside || k.Project == ProjectNever }

// Key is one key of a settings file.
type Key struct {
	Path     string      // for example "tools.shell.inactivityTimeout"
	Expected string      // a description of valid values, for example "a whole number of at least 1"
	Merge    Merge       // how layers combine
	Project  ProjectRule // values that an untrusted project may set
	Always   bool        // Project also applies to trusted projects: commands that the key confines can write their files
	Outside  bool        // the value is used outside of the confinement of commands: while they are confined, no project may set it
	Switch   bool        // it determines the available tools, servers, agents or skills
	Variable string      // environment variable without the layout's prefix; "": none
	Unused   bool        // fettle does not read it yet
	Single   bool        // of a list: a single text is accepted as a list of one

	index   []int // of the field, from Settings
	kind    kind
	cut     int
	initial string                             // the default as in the tag; "": the zero value
	schema  func() map[string]any              // created on first use
	check   func() (*jsonschema.Schema, error) // schema, compiled on first use
}

// kind is the type of a key's value.
type kind int

const (
	aText kind = iota
	aBool
	aWhole
	aNumber
	aList // of texts
	aMap  // with case-sensitive names
)

// node is a key, or a group of keys.
type node struct {
	path  string
	key   *Key             // nil for a group
	below map[string]*node // nil for a key
	field reflect.StructField
}

// catalogue contains all keys. It is immutable.
type catalogue struct {
	root   *node
	keys   []*Key // in the order of the fields
	byPath map[string]*Key
}

// known returns the catalogue, which is built once.
var known = sync.OnceValue(func() *catalogue {
	c := &catalogue{byPath: map[string]*Key{}}
	c.root = c.group(reflect.TypeFor[Settings](), "", nil)
	schemas := sync.OnceValue(func() map[string]map[string]any { return schemasOf(c.root, reflectSchema(nil)) })
	for _, k := range c.keys {
		k.describe(func() map[string]any { return schemas()[k.Path] })
	}
	return c
})

// Keys returns all keys, in the order of the documentation.
func Keys() []Key {
	keys := make([]Key, 0, len(known().keys))
	for _, k := range known().keys {
		described := *k
		described.Expected = k.expects()
		keys = append(keys, described)
	}
	return keys
}

// group adds the fields of a struct type.
func (c *catalogue) group(t reflect.Type, path string, index []int) *node {
	n := &node{path: path, below: map[string]*node{}}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := join(path, name)
		where := append(slices.Clone(index), f.Index...)
		var below *node
		if tag, ok := f.Tag.Lookup("set"); ok {
			below = &node{path: at, key: c.key(at, tag, f.Type, where)}
		} else {
			below = c.group(f.Type, at, where)
		}
		below.field = f
		n.below[name] = below
	}
	return n
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// key parses the tag of a field. It panics on a mistake in a tag, which the first
// test finds.
func (c *catalogue) key(path, tag string, t reflect.Type, index []int) *Key {
	k := &Key{Path: path, Merge: Replace, index: index, kind: kindOf(t)}
	for _, word := range strings.Split(tag, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "merge":
			k.Merge = Merge(value)
		case "project":
			k.Project = ProjectRule(value)
		case "env":
			k.Variable = value
		case "cut":
			n, err := strconv.Atoi(value)
			if err != nil {
				panic(fmt.Sprintf("settings: the tag of %s: %v", path, err))
			}
			k.cut = n
		case "default":
			k.initial = value
		case "always":
			k.Always = true
		case "outside":
			k.Outside = true
		case "switch":
			k.Switch = true
		case "unused":
			k.Unused = true
		case "single":
			k.Single = true
		default:
			panic(fmt.Sprintf("settings: the tag of %s: %s is unknown", path, name))
		}
	}
	if k.kind == aList {
		k.cut = 1
	}
	c.keys = append(c.keys, k)
	c.byPath[path] = k
	return k
}

func kindOf(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Bool:
		return aBool
	case reflect.Int:
		return aWhole
	case reflect.Float64:
		return aNumber
	case reflect.Slice:
		return aList
	case reflect.Map:
		return aMap
	case reflect.String:
		return aText
	}
	panic("settings: unsupported type of a key: " + t.String())
}

// expects returns Expected, which is set only in the copies returned by [Keys].
func (k *Key) expects() string { return expected(k.schema()) }

// describe sets the key's schema, which a session without settings does not need.
func (k *Key) describe(schema func() map[string]any) {
	k.schema = schema
	k.check = sync.OnceValues(func() (*jsonschema.Schema, error) {
		text, err := json.Marshal(schema())
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler()
		c.LoadURL = refuseToLoad
		const url = "fettle:///key"
		if err := c.AddResource(url, strings.NewReader(string(text))); err != nil {
			return nil, err
		}
		return c.Compile(url)
	})
}

// expected describes the values that a schema accepts.
func expected(schema map[string]any) string {
	if values, ok := schema["enum"].([]any); ok {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = fmt.Sprint(v)
		}
		if len(words) == 1 {
			return words[0]
		}
		return "one of " + strings.Join(words, ", ")
	}
	low, hasLow := schema["minimum"]
	high, hasHigh := schema["maximum"]
	limits := ""
	switch {
	case hasLow && hasHigh:
		limits = fmt.Sprintf(" from %s to %s", quote(low), quote(high))
	case hasLow:
		limits = " of at least " + quote(low)
	case hasHigh:
		limits = " of at most " + quote(high)
	}
	switch schema["type"] {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number" + limits
	case "number":
		return "a number" + limits
	case "array":
		if items, ok := schema["items"].(map[string]any); ok && items["type"] == "string" {
			return "a list of texts"
		}
		return "a list"
	case "object":
		return "an object"
	}
	if pattern, ok := schema["pattern"]; ok {
		return fmt.Sprintf("a text that matches %v", pattern)
	}
	if _, ok := schema["minLength"]; ok {
		return "a text that is not empty"
	}
	return "a text"
}
