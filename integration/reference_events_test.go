package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/hooks"
)

// eventReference returns the page of the events of a session.
func eventReference(t *testing.T) string {
	b := referencePage("Events", "For authors of front ends, scripts and hooks: the events of a session with their fields. One minute a lookup.\n\n"+
		"The events are messages on the bus, events of a prompt, lines of `stream-json`, and the input and output of hooks.")
	b.WriteString("\n## The bus\n\nMessages of `core/bus`. As JSON each is an object with `type` and the keys below. [embedding.md](../embedding.md#asking-for-approval) explains the answers.\n")
	own := parsePackage(t, "core/bus")
	own.follow(t, "core/confirmation")
	var others []string
	for _, c := range own.ofType("Type") {
		name, ofMessage := strings.CutPrefix(c.name, "type")
		if !ofMessage {
			continue
		}
		typ := c.value
		require.Contains(t, own.structs, name, "core/bus has no struct for the type %s", typ)
		fmt.Fprintf(b, "\n### %s\n\n`bus.%s`: %s\n", typ, name, summary(own.structs[name].doc, name))
		others = append(others, own.writeStruct(b, name)...)
	}
	b.WriteString("\n### Parts of messages\n")
	writeParts(b, own, others)

	b.WriteString("\n## A prompt\n\nEvents of `agent.Client.Run`, by `agent.Event.Type`, with the fields that each fills. The last event of a prompt is one of those that end it.\n\n| type | fields | ends the prompt |\n|---|---|---|\n")
	ends := false
	for _, c := range parsePackage(t, "core/agent").ofType("EventType") {
		ends = ends || c.name == "EventDone"
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", c.value, inCell(c.doc), map[bool]string{true: "yes"}[ends])
	}

	b.WriteString("\n## stream-json\n\nLines of `fettle -p -o stream-json`; [headless.md](../headless.md#stream-json) explains when each is written.\n")
	program, events := parsePackage(t, "cli/headless"), parsePackage(t, "core/agent")
	parts := map[*source][]string{}
	for _, line := range []struct {
		name string
		in   *source
		of   string
	}{{"init", program, "streamInit"}, {"message", events, "messageEvent"}, {"tool_use", events, "toolUseEvent"}, {"tool_result", events, "toolResultEvent"},
		{"error", events, "errorEvent"}, {"result", program, "streamResult"}} {
		fmt.Fprintf(b, "\n### %s, in stream-json\n", line.name)
		require.Contains(t, line.in.structs, line.of)
		parts[line.in] = append(parts[line.in], line.in.writeStruct(b, line.of)...)
	}
	writeParts(b, events, parts[events])
	writeParts(b, program, parts[program])

	b.WriteString("\n## Hooks\n\n[hooks.md](../hooks.md) explains each event and the possible effects of a hook:")
	for _, e := range hooks.Events() {
		fmt.Fprintf(b, " `%s`", e)
	}
	b.WriteString(".\n\n### Input of a hook, on stdin\n")
	own = parsePackage(t, "core/hooks")
	others = own.writeStruct(b, "Input")
	b.WriteString("\n### Output of a hook, on stdout\n")
	others = append(others, own.writeStruct(b, "Output")...)
	writeParts(b, own, others)

	b.WriteString("\n## Telemetry\n\nSpans, attributes and metrics: [telemetry.md](../telemetry.md#spans), whose tables a test compares with the names in the code.\n")
	return b.String()
}

// writeParts writes the structs that others refer to, each once.
func writeParts(b *strings.Builder, s *source, names []string) {
	done := []string{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		fmt.Fprintf(b, "\n#### %s.%s\n", s.name, name)
		if text := summary(s.structs[name].doc, name); text != "" {
			b.WriteString("\n" + text + "\n")
		}
		names = append(names, s.writeStruct(b, name)...)
	}
}

// summary returns a comment as a paragraph, without its leading name and without the
// brackets of links.
func summary(doc, name string) string {
	text := strings.Join(strings.Fields(strings.TrimPrefix(doc, name+" ")), " ")
	return strings.NewReplacer("[", "", "]", "").Replace(text)
}
