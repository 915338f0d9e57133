package calls

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model/script"
)

// demoFiles holds the initial scratch project, the changes by another program, and
// the expected final files.
//
//go:embed demodata
var demoFiles embed.FS

// demoTurn is one turn of the scripted conversation: a call of the model, or a change
// by another program.
type demoTurn struct {
	title string         // the subject of the step that begins with this turn; "" if it continues a step
	text  string         // the scripted model's text
	tool  string         // "" for a change by another program
	args  map[string]any // of the call; quoted values are filled in when the turn runs
	saves string         // the version that the other program saves, a path below demodata/outside
	want  fault.Code     // the expected error code, with all files unchanged; "" for success
	hides string         // a file whose content must not appear in the result
	stops string         // the mistake that this refusal prevents, for the summary
	mends string         // the mistake that this success repairs, for the summary
}

// quoted is an argument that is not in the script: the hash of this file in the
// latest result that contains one.
type quoted string

// MarshalText returns the placeholder that the scripted model replaces.
func (q quoted) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("{{sha256 %q}}", string(q))), nil
}

// offered is an argument that is not in the script: the retry token of the latest
// result.
type offered struct{}

// MarshalText returns the placeholder that the scripted model replaces.
func (offered) MarshalText() ([]byte, error) { return []byte(`{{value "error.retry"}}`), nil }

// demoPrompt is the prompt for the scripted model.
const demoPrompt = "Add cheese to the prices, sort the receipt, tidy the settings, fix the ledger, and rename format_cents."

// demoSteps returns the number of steps.
func demoSteps(turns []demoTurn) int {
	n := 0
	for _, t := range turns {
		if t.title != "" {
			n++
		}
	}
	return n
}

// scriptOf returns the turns of the model and its final text.
func scriptOf(turns []demoTurn) (*script.Script, error) {
	type call struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	}
	type turn struct {
		Title string `json:"title,omitempty"`
		Text  string `json:"text,omitempty"`
		Calls []call `json:"calls,omitempty"`
	}
	var all []turn
	for _, t := range turns {
		if t.tool != "" {
			all = append(all, turn{Title: t.title, Text: t.text, Calls: []call{{t.tool, t.args}}})
		}
	}
	all = append(all, turn{Text: "I have done everything that could be done safely."})
	data, err := json.Marshal(map[string]any{"turns": all})
	if err != nil {
		return nil, err
	}
	return script.Parse("demo", data)
}

const pricesPatch = `--- a/prices.py
+++ b/prices.py
@@ -1,1 +1,1 @@
 PRICES = {
     "apple": 40,
     "bread": 250,
+    "cheese": 480,
     "milk": 120,
 }
@@ -1,1 +1,1 @@
 def total(items):
     """Return the price of all items."""
-    result = 0
-    for item in items:
-        result = result + price(item)
-    return result
+    return sum(price(item) for item in items)
@@ -1,1 +1,1 @@
 def discount(amount, percent):
     """Return the amount after a discount."""
-    return amount - amount * percent / 100
+    return amount - amount * percent // 100
`

const receiptPatch = `--- a/receipt.py
+++ b/receipt.py
@@ -16,4 +16,4 @@
 def receipt(items):
     """Return the whole receipt as text."""
-    lines = [line(item) for item in items]
+    lines = [line(item) for item in sorted(items)]
     lines.append("-" * WIDTH)
`

const ledgerPatch = `--- a/ledger.csv
+++ b/ledger.csv
@@ -1,2 +1,2 @@
 date,item,count,cents
-2026-03-02,bread,14,3500
+2026-03-02,bread,15,3750
`

const rulePatch = `--- a/receipt.py
+++ b/receipt.py
@@ -14,5 +14,5 @@
 def receipt(items):
     """Return the whole receipt as text."""
     lines = [line(item) for item in sorted(items)]
-    lines.append("-" * WIDTH)
+    lines.append("=" * WIDTH)
     lines.append(format_cents(total(items)).rjust(WIDTH))
`

const renamePatch = `*** Begin Patch
*** Update File: prices.py
@@
-def format_cents(amount):
+def format_amount(amount):
*** Update File: receipt.py
@@
-from prices import format_cents, price, total
+from prices import format_amount, price, total
@@
-    text = format_cents(price(item))
+    text = format_amount(price(item))
@@
-    lines.append(format_cents(total(items)).rjust(WIDTH))
+    lines.append(format_amount(total(items)).rjust(WIDTH))
*** Update File: settings.ini
@@
 [shop]
+format = prices.format_amount
*** End Patch
`

// scriptOf returns the conversation. It contains only the model's turns: every
// result comes from the tools, and every hash from a result.
func demoScript() []demoTurn {
	return []demoTurn{
		{
			title: "Read a file",
			text:  "I will read the price list first.",
			tool:  "read_file",
			args:  map[string]any{"file_path": "prices.py"},
		},
		{
			title: "Three hunks, each with wrong line numbers",
			text:  "I add cheese, shorten total and keep discounts whole. I do not count lines.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "prices.py", "unified_diff": pricesPatch, "base_content_sha256": quoted("prices.py")},
			mends: "three hunks with wrong line numbers: placed by their content",
		},
		{
			title: "Read two more files",
			text:  "Now the receipt and the settings.",
			tool:  "read_many_files",
			args:  map[string]any{"paths": []string{"receipt.py", "settings.ini"}},
		},
		{
			title: "Meanwhile, in an editor",
			saves: "first/receipt.py",
		},
		{
			title: "A patch based on the old text",
			text:  "I sort the items on the receipt.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "receipt.py", "unified_diff": receiptPatch, "base_content_sha256": quoted("receipt.py")},
			want:  fault.FileChangedSinceRead,
			stops: "a patch over another program's recent edit",
		},
		{
			title: "Recovery from the refusal alone",
			text:  "The refusal contains the current file. The same change still applies, so I send it with the new hash.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "receipt.py", "unified_diff": receiptPatch, "base_content_sha256": quoted("receipt.py")},
			mends: "the same patch, without another read: both edits are in the file",
		},
		{
			title: "Overwriting without a base hash",
			text:  "I tidy the settings by rewriting the file.",
			tool:  "write_file",
			args:  map[string]any{"file_path": "settings.ini", "content": "[shop]\nname = Corner Shop\n"},
			want:  fault.BaseHashRequired,
			stops: "an overwrite without a base hash",
		},
		{
			title: "A file that was never read",
			text:  "The ledger looks wrong. I guess its text and send a hash of another file.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "ledger.csv", "unified_diff": ledgerPatch, "base_content_sha256": quoted("receipt.py")},
			want:  fault.EditRequiresPriorRead,
			hides: "ledger.csv",
			stops: "a change of a file that the model never read, whose content the refusal does not reveal",
		},
		{
			title: "A retry: a stale patch is one short call from success",
			saves: "second/receipt.py",
		},
		{
			text: "I print a double rule above the total.",
			tool: "safe_patch",
			args: map[string]any{"file_path": "receipt.py", "unified_diff": rulePatch, "base_content_sha256": quoted("receipt.py")},
			want: fault.FileChangedSinceRead,
		},
		{
			text:  "The refusal offers my change, carried over to the current file. I send its token.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "receipt.py", "unified_diff": offered{}, "base_content_sha256": quoted("receipt.py")},
			mends: "a stale patch, by its retry token: both edits are in the file",
		},
		{
			title: "A set of three files, one of them stale",
			saves: "second/settings.ini",
		},
		{
			text:  "I rename format_cents in all files together.",
			tool:  "apply_patch",
			args:  map[string]any{"input": renamePatch},
			want:  fault.FileChangedSinceRead,
			stops: "a rename in two files of three: no file was changed",
		},
		{
			text:  "The refusal offers the whole set, carried over. I send its token.",
			tool:  "apply_patch",
			args:  map[string]any{"input": offered{}},
			mends: "the set, by its retry token: all three files changed together",
		},
	}
}
