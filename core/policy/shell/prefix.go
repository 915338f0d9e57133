package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// beforeCommands lists the keywords of bash before a command. The command is
// evaluated without them.
var beforeCommands = []string{"!", "time", "coproc", "if", "then", "elif", "else", "while", "until", "do"}

// Prefix parses a rule's commandPrefix as bash would: the words of one simple
// command, all of them static. Keywords and declarations of bash, such as export
// or time, are read as words. The error explains to the rule's author why a text
// is invalid, and suggests a valid one.
func Prefix(s string) ([]string, error) {
	if problem := refuse(s); problem != "" {
		return nil, errors.New(problem)
	}
	if words := literalWords(s); words != nil {
		return words, nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(s), "")
	var call *syntax.CallExpr
	if err == nil && len(file.Stmts) == 1 && !file.Stmts[0].Negated {
		call, _ = file.Stmts[0].Cmd.(*syntax.CallExpr)
		if file.Stmts[0].Cmd == nil { // redirections alone
			call = &syntax.CallExpr{}
		}
	}
	if words := plainWords(s); call == nil && len(words) > 0 {
		if len(words) > 1 && slices.Contains(beforeCommands, words[0]) && !strings.HasPrefix(words[1], "-") {
			return nil, fmt.Errorf("what stands behind %s is judged without it; write %q", words[0], Quote(words[1:]))
		}
		return words, nil
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("it does not parse as a bash command: %w", err)
	case len(file.Stmts) == 0:
		return nil, errors.New("it names no command")
	}
	stmt := file.Stmts[0]
	switch {
	case call == nil || len(file.Stmts) > 1 || stmt.Background:
		return nil, errors.New("it is more than one command" + adviseEach(s, file))
	case len(file.Last) > 0 || len(stmt.Comments) > 0:
		return nil, errors.New("it holds a comment" + advise(s, call.Args))
	case len(call.Assigns) > 0:
		return nil, errors.New("it begins with an assignment" + advise(s, call.Args))
	case len(stmt.Redirs) > 0:
		return nil, errors.New("it holds a redirection" + advise(s, call.Args))
	}
	words, dynamic := staticWords(s, call.Args)
	if dynamic != "" {
		return nil, errors.New(dynamic + " is no fixed text" + advise(s, call.Args))
	}
	return words, nil
}

// literalWords returns the words of a text of letters, digits and the characters _ . /
// and -, which bash does not interpret, unless it begins with a word of bash's grammar;
// nil for any other. It spares the parser, which takes most of the time in which a
// policy is loaded.
func literalWords(s string) []string {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == ' ' || c == '_' || c == '.' || c == '/' || c == '-') {
			return nil
		}
	}
	words := strings.Fields(s)
	grammar := []string{"case", "done", "esac", "fi", "for", "function", "in", "select", "export", "declare", "typeset", "local", "readonly", "nameref", "let", "eval", "test"}
	if len(words) == 0 || slices.Contains(beforeCommands, words[0]) || slices.Contains(grammar, words[0]) {
		return nil
	}
	return words
}

// plainWords splits a text of words that require no quotes; nil for any other.
func plainWords(s string) []string {
	words := strings.Fields(s)
	for _, w := range words {
		if quoteWord(w) != w && !slices.Contains([]string{"!", "[[", "]]"}, w) {
			return nil
		}
	}
	if strings.Contains(s, "\n") {
		return nil
	}
	return words
}

// staticWords resolves words up to the first that is not static, which it returns
// as written.
func staticWords(source string, list []*syntax.Word) (words []string, dynamic string) {
	for _, w := range newAnalysis(source).words(list) {
		if !w.Static {
			return words, w.Text
		}
		words = append(words, w.Text)
	}
	return words, ""
}

// advise suggests a prefix: the words up to the first that is not static, because
// a prefix matches whatever follows.
func advise(source string, list []*syntax.Word) string {
	words, _ := staticWords(source, list)
	if len(words) == 0 {
		return "; write a program's name"
	}
	return fmt.Sprintf("; write %q", Quote(words))
}

// adviseEach suggests the prefixes for several commands.
func adviseEach(source string, file *syntax.File) string {
	var each []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			if words, _ := staticWords(source, call.Args); len(words) > 0 {
				each = appendNew(each, fmt.Sprintf("%q", Quote(words)))
			}
		}
		return true
	})
	if len(each) == 0 {
		return "; write one"
	}
	return "; write each by itself: " + strings.Join(each, ", ")
}
