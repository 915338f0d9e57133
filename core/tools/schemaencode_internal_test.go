package tools

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"
)

// unusual has a schema with members that no tag sets.
type unusual struct{}

func (unusual) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Const: "<a>", Not: &jsonschema.Schema{Type: "null"}, Extras: map[string]any{"x": 1}}
}

func TestSchemasAreEncodedLikeTheirMarshalJSON(t *testing.T) {
	t.Parallel()
	type inner struct {
		Size float64 `json:"size" jsonschema:"minimum=0.5,maximum=1e3,exclusiveMinimum=0"`
		Any  any     `json:"any"`
	}
	type outer struct {
		Text     string            `json:"text" jsonschema:"minLength=1,maxLength=9,pattern=^<[a-z]\\,&+>$" jsonschema_description:"A \"text\",\twith <, > & \\u003c."`
		Foreign  string            `json:"foreign,omitempty" jsonschema_description:"Größe \u2028 …"`
		Word     string            `json:"word" jsonschema:"enum=a,enum=<b>,default=a,title=Word,example=a"`
		Number   int               `json:"number,omitempty" jsonschema:"minimum=-1,maximum=0,default=0,enum=0,enum=-1"`
		Flag     bool              `json:"flag" jsonschema:"default=false,readOnly=true"`
		List     []inner           `json:"list" jsonschema:"minItems=0,maxItems=3"`
		Words    []string          `json:"words" jsonschema:"uniqueItems=true"`
		Map      map[string]inner  `json:"map"`
		Free     map[string]any    `json:"free"`
		Any      any               `json:"any" jsonschema_description:"Anything."`
		Raw      json.RawMessage   `json:"raw"`
		Time     time.Time         `json:"time"`
		Either   string            `json:"either" jsonschema:"oneof_type=string;null"`
		Unusual  unusual           `json:"unusual"`
		Nested   *inner            `json:"nested,omitempty"`
		Extra    map[string]string `json:"extra" jsonschema_extras:"a=b"`
		Nullable string            `json:"nullable" jsonschema:"nullable"`
	}
	for _, of := range []reflect.Type{reflect.TypeFor[outer](), reflect.TypeFor[inner](), reflect.TypeFor[struct{}]()} {
		r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
		s := r.ReflectFromType(of)
		want, err := json.Marshal(s)
		require.NoError(t, err)
		got, err := encodeSchema(s)
		require.NoError(t, err)
		require.Equal(t, string(unescapeHTML(want)), string(got))
		require.True(t, json.Valid(got))
	}
}

func TestSchemaOfAPropertyThatIsNil(t *testing.T) {
	t.Parallel()
	properties := jsonschema.NewProperties()
	properties.Set("a", nil)
	s := &jsonschema.Schema{Type: "object", Properties: properties}
	want, err := json.Marshal(s)
	require.NoError(t, err)
	got, err := encodeSchema(s)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestSchemaWithAValueThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	_, err := encodeSchema(&jsonschema.Schema{Items: &jsonschema.Schema{Default: func() {}}, Type: "array"})
	require.ErrorContains(t, err, "unsupported type")
}
