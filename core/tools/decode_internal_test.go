package tools

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type decodedName string

type decodedText struct{ text string }

func (d *decodedText) UnmarshalText(text []byte) error {
	d.text = "<" + string(text) + ">"
	return nil
}

type decoded struct {
	A string            `json:"a"`
	B string            `json:"b,omitempty"`
	C *string           `json:"c"`
	D decodedName       `json:"d"`
	E map[string]string `json:"e"`
	F string
	N int         `json:"n"`
	O *int        `json:"o"`
	P bool        `json:"p"`
	Q *bool       `json:"q"`
	R int         `json:"camelCase"`
	S []string    `json:"s"`
	T decodedText `json:"t"`
	U uint8       `json:"u"`
	W any         `json:"w"`
	X string      `json:"-"`
}

// The tags of types that vet does not accept, or that only encoding/json decodes.
func decodedTypes() []reflect.Type {
	field := func(name string, of reflect.Type, tag string) reflect.StructField {
		return reflect.StructField{Name: name, Type: of, Tag: reflect.StructTag(tag)}
	}
	text, list, number := reflect.TypeFor[string](), reflect.TypeFor[[]string](), reflect.TypeFor[int]()
	return []reflect.Type{
		reflect.TypeFor[decoded](), reflect.TypeFor[decodedAround](), reflect.TypeFor[decodedItself](), reflect.TypeFor[decodedText](), reflect.TypeFor[map[string]any](),
		reflect.StructOf([]reflect.StructField{field("A", text, `json:"a"`), field("B", text, `json:"a"`), field("C", list, `json:"c"`)}),
		reflect.StructOf([]reflect.StructField{field("A", text, `json:"a"`), field("B", text, `json:"A"`)}),
		reflect.StructOf([]reflect.StructField{field("A", text, `json:"x\\\"y"`), field("N", number, `json:"n,omitempty,string"`)}),
		reflect.StructOf([]reflect.StructField{field("F", text, ``), field("G", text, `json:"F"`), field("N", number, `json:"n"`)}),
	}
}

type decodedAround struct {
	decoded
	A string `json:"a"`
}

type decodedItself struct{ A string }

func (d *decodedItself) UnmarshalJSON(text []byte) error {
	d.A = string(text)
	return nil
}

// BE-02: parameters equal those of encoding/json, and so do their errors.
func TestDecodeParams(t *testing.T) {
	values := []any{
		"", "text", strings.Repeat("é\n\"", longText), nil, true, false, map[string]any{"a": "b"}, []any{"a", "b"}, []any{},
		json.Number("7"), json.Number("-0"), json.Number("5.0"), json.Number("1e3"), json.Number("1.5"), json.Number("300"), json.Number("99999999999999999999"),
	}
	keys := []string{"a", "b", "c", "d", "e", "F", "f", "n", "o", "p", "q", "camelCase", "s", "t", "u", "w", "-", "y", "A", "N", "O", "unknown", "", "x\"y", "text"}
	rounds := 5_000
	if testing.Short() {
		rounds = 500 // enough for the race detector
	}
	random := rand.New(rand.NewPCG(1, 2))
	same := 0
	for range rounds {
		object := map[string]any{}
		for range random.IntN(5) {
			object[keys[random.IntN(len(keys))]] = values[random.IntN(len(values))]
		}
		text := appendJSON(nil, object)
		for _, of := range decodedTypes() {
			both := [2]any{reflect.New(of).Interface(), reflect.New(of).Interface()}
			want, got := json.Unmarshal(text, both[0]), decodeParams(text, object, fieldNames(of), both[1])
			if want != nil {
				require.Error(t, got, "%s", text)
				continue
			}
			require.NoError(t, got, "%s", text)
			require.Equal(t, both[0], both[1], "%s", text)
			same++
		}
	}
	require.Greater(t, same, rounds)
}
