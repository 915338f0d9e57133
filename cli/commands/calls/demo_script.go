package calls

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model/script"
)

// demoFiles holds the scratch project as it begins, what somebody outside
// saves over it, and how it must end.
//
//go:embed demodata
var demoFiles embed.FS

// demoTurn is one turn of the scripted conversation: a call that the model
// makes, or something that happens outside.
type demoTurn struct {
	title string         // what this turn shows
	says  string         // the scripted model's words
	tool  string         // "" for what happens outside
	args  map[string]any // of the call; quoted values are filled in when the turn is played
	saves string         // the file that somebody outside saves
	want  fault.Code     // the error that the call must end with; "" for success
	hides string         // a file of which the answer may not hold a line
	stops string         // what this refusal prevents, for the closing table
	mends string         // what this success mends, for the closing table
}

// quoted is an argument that is not in the script: the hash in the latest
// answer that holds one of this file.
type quoted string

// MarshalText returns the placeholder that the scripted model fills in.
func (q quoted) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("{{sha256 %q}}", string(q))), nil
}

// demoPrompt is what the scripted model is asked.
const demoPrompt = "Add cheese to the prices, sort the receipt, tidy the settings, and mend the ledger."

// modelTurns are the turns that are the model's, with its last words.
func modelTurns(turns []demoTurn) *script.Script {
	s := &script.Script{Name: "demo"}
	for _, t := range turns {
		if t.tool == "" {
			continue
		}
		args, _ := json.Marshal(t.args) // texts and lists of texts
		s.Turns = append(s.Turns, script.Turn{Title: t.title, Text: script.Text{Whole: t.says}, Calls: []script.Call{{Tool: t.tool, Args: args}}})
	}
	s.Turns = append(s.Turns, script.Turn{Text: script.Text{Whole: "I have done what could be done safely."}})
	return s
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

// demoScript returns the conversation. It holds the model's turns only: every
// answer comes from the tools, and every hash from an answer.
func demoScript() []demoTurn {
	return []demoTurn{
		{
			title: "Read a file",
			says:  "I will read the price list first.",
			tool:  "read_file",
			args:  map[string]any{"file_path": "prices.py"},
		},
		{
			title: "Three hunks, each with wrong line numbers",
			says:  "I add cheese, shorten total and keep discounts whole. I do not count lines.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "prices.py", "unified_diff": pricesPatch, "base_content_sha256": quoted("prices.py")},
			mends: "three hunks with wrong line numbers: placed by their content",
		},
		{
			title: "Read two more files",
			says:  "Now the receipt and the settings.",
			tool:  "read_many_files",
			args:  map[string]any{"paths": []string{"receipt.py", "settings.ini"}},
		},
		{
			title: "Meanwhile, in an editor",
			saves: "receipt.py",
		},
		{
			title: "A patch based on the old text",
			says:  "I sort the items on the receipt.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "receipt.py", "unified_diff": receiptPatch, "base_content_sha256": quoted("receipt.py")},
			want:  fault.FileChangedSinceRead,
			stops: "a patch over somebody's fresh edit",
		},
		{
			title: "Recovery, with nothing but the refusal",
			says:  "The refusal has the file as it is now. The same change still fits, so I send it with the new hash.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "receipt.py", "unified_diff": receiptPatch, "base_content_sha256": quoted("receipt.py")},
			mends: "the same patch again, without another read: both edits are in the file",
		},
		{
			title: "Overwriting without proof",
			says:  "I tidy the settings by writing them anew.",
			tool:  "write_file",
			args:  map[string]any{"file_path": "settings.ini", "content": "[shop]\nname = Corner Shop\n"},
			want:  fault.BaseHashRequired,
			stops: "an overwrite that declared no base",
		},
		{
			title: "A file that was never read",
			says:  "The ledger looks wrong. I guess its text and send the hash that I have at hand.",
			tool:  "safe_patch",
			args:  map[string]any{"file_path": "ledger.csv", "unified_diff": ledgerPatch, "base_content_sha256": quoted("receipt.py")},
			want:  fault.EditRequiresPriorRead,
			hides: "ledger.csv",
			stops: "a change of a file that the model never saw, of which not a byte was shown",
		},
	}
}
