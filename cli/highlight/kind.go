package highlight

import (
	"github.com/alecthomas/chroma/v2"

	"github.com/fettle-dev/fettle/cli/theme"
)

// Kind is the kind of a token. The zero value is other text.
type Kind int

// The kinds of tokens, as [theme.Syntax] describes them.
const (
	Other Kind = iota
	Keyword
	Type
	Function
	Builtin
	String
	Number
	Comment
	Operator
	Key
	Tag
	Heading
	Added
	Removed
)

// Style returns the style of a kind in a theme.
func (k Kind) Style(t *theme.Theme) theme.Style {
	s := &t.Syntax
	switch k {
	case Keyword:
		return s.Keyword
	case Type:
		return s.Type
	case Function:
		return s.Function
	case Builtin:
		return s.Builtin
	case String:
		return s.String
	case Number:
		return s.Number
	case Comment:
		return s.Comment
	case Operator:
		return s.Operator
	case Key:
		return s.Key
	case Tag:
		return s.Tag
	case Heading:
		return t.Heading
	case Added:
		return t.Added
	case Removed:
		return t.Removed
	}
	return theme.Style{}
}

// kindOf returns the kind of a token of the engine, of the types that rules use.
func kindOf(t chroma.TokenType) Kind {
	switch t {
	case chroma.Keyword:
		return Keyword
	case chroma.KeywordType:
		return Type
	case chroma.NameFunction:
		return Function
	case chroma.NameBuiltin:
		return Builtin
	case chroma.LiteralString:
		return String
	case chroma.LiteralNumber:
		return Number
	case chroma.Comment:
		return Comment
	case chroma.Operator:
		return Operator
	case chroma.NameAttribute:
		return Key
	case chroma.NameTag:
		return Tag
	case chroma.GenericHeading:
		return Heading
	case chroma.GenericInserted:
		return Added
	case chroma.GenericDeleted:
		return Removed
	}
	return Other
}
