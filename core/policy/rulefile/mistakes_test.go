package rulefile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// good is the end of each malformed file; it is in force unless the file has a syntax
// error.
const good = `
[[rule]]
name = "good"
toolName = "glob"
decision = "deny"
priority = 7
`

func deny(lines ...string) string {
	return "[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 1\n" + strings.Join(lines, "\n") + "\n"
}

func allow(lines ...string) string {
	return "[[rule]]\ntoolName = \"glob\"\ndecision = \"allow\"\npriority = 1\n" + strings.Join(lines, "\n") + "\n"
}

func command(lines ...string) string {
	return "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 1\n" + strings.Join(lines, "\n") + "\n"
}

func check(lines ...string) string {
	return "[[safety_checker]]\ntoolName = \"glob\"\n" + strings.Join(lines, "\n") + "\n"
}

func test(lines ...string) string {
	return "[[test]]\ntoolName = \"glob\"\ndecision = \"allow\"\n" + strings.Join(lines, "\n") + "\n"
}

// mistakes are malformed files. The expected problem is "LINE KEY KIND SEVERITY part of
// the message". kept: the first rule still applies.
var mistakes = map[string]struct {
	text string
	want string
	kept bool
}{
	"no value":               {"x =\n", "1  toml_parse error not valid TOML", false},
	"open string":            {deny(`name = "x`), "5  toml_parse error not valid TOML", false},
	"open table":             {"[[rule]\n", "1  toml_parse error not valid TOML", false},
	"a key twice":            {deny(`priority = 2`), "5  toml_parse error not valid TOML", false},
	"table and array":        {"[[rule]]\n[rule]\n[x\n", "2  toml_parse error not valid TOML", false},
	"not UTF-8":              {"# \xff\n", "1  toml_parse error not valid TOML", false},
	"a number too large":     {deny(`x = 99999999999999999999`), "5  toml_parse error not valid TOML", false},
	"too deep":               {strings.Repeat("a.", 101) + "a = 1\n", "1  toml_parse error too many dots", false},
	"too deep, inline":       {"x = 1\ny = {" + strings.Repeat("a.", 101) + "a = 1}\n", "2  toml_parse error too many dots", false},
	"JSON":                   {`{"rule": []}` + "\n", "1  toml_parse error not valid TOML", false},
	"rule in single bracket": {"[rule]\ntoolName = \"x\"\n", "1 rule schema_validation error two brackets", false},
	"two rules in single":    {"[rule]\na = 1\n\n [rule] # b\n", "1 rule schema_validation error two brackets; 4 rule schema_validation error two brackets", false},
	"rule is a number":       {"rule = 5\n", "3  toml_parse error not valid TOML", false},
	"checker is a number":    {"safety_checker = 5\n", "1 safety_checker schema_validation error the integer 5", false},
	"test holds a number":    {"test = [\n5]\n", "2 test schema_validation error the integer 5", false},
	"checker in one bracket": {"[safety_checker]\n", "1 safety_checker schema_validation error two brackets", false},
	"test in one bracket":    {"[test]\n", "1 test schema_validation error two brackets", false},
	"rules":                  {"[[rules]]\ntoolName = \"x\"\n", "1 rules unknown_key error Write [[rule]]", false},
	"Rule":                   {"[[Rule]]\n", "1 Rule unknown_key error Write [[rule]]", false},
	"safety_checkers":        {"[[safety_checkers]]\n", "1 safety_checkers unknown_key error Write [[safety_checker]]", false},
	"no header":              {"decision = \"deny\"\ntoolName = \"x\"\npriority = 1\n", "1 decision unknown_key error Write [[rule]] in the line before; 2 toolName unknown_key error Write [[rule]]; 3 priority unknown_key warning Remove it", false},
	"no checker's header":    {"checker = {type = \"external\", name = \"x\"}\n", "1 checker unknown_key error Write [[safety_checker]]", false},
	"below another":          {"[[policy.rule]]\ndecision = \"deny\"\ntoolName = \"x\"\npriority = 1\n", "1 policy unknown_key error Write [[rule]]", false},
	"a checker below":        {"[policy]\n[[policy.guards]]\nchecker = {type = \"external\", name = \"x\"}\n", "1 policy unknown_key error Write [[safety_checker]]", false},
	"unknown table":          {"[ui]\npriority = 1\nmode = \"dark\"\n", "1 ui unknown_key warning Remove it", false},
	"unknown at the top":     {"version = 1\n", "1 version unknown_key warning Remove it", false},

	"no tool":               {"[[rule]]\ndecision = \"allow\"\npriority = 1\n", "1 toolName schema_validation error missing", false},
	"tool misspelt":         {"[[rule]]\ntool_name = \"x\"\ndecision = \"deny\"\npriority = 1\n", "1 toolName schema_validation error instead of tool_name; 2 tool_name unknown_key warning Did you mean toolName?", false},
	"no decision":           {"[[rule]]\ntoolName = \"glob\"\npriority = 1\n", "1 decision schema_validation error missing", false},
	"no priority":           {"[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\n", "1 priority schema_validation error missing", false},
	"nothing at all":        {"[[rule]]\n", "1 decision schema_validation error missing; 1 priority schema_validation error missing; 1 toolName schema_validation error missing", false},
	"tool is a number":      {"[[rule]]\ntoolName = 1\ndecision = \"deny\"\npriority = 1\n", "2 toolName schema_validation error must be a string or an array of strings", false},
	"tool is empty":         {"[[rule]]\ntoolName = \" \"\ndecision = \"deny\"\npriority = 1\n", "2 toolName schema_validation error empty", false},
	"tools are none":        {"[[rule]]\ntoolName = []\ndecision = \"deny\"\npriority = 1\n", "2 toolName schema_validation error empty", false},
	"one tool is empty":     {"[[rule]]\ntoolName = [\n\"glob\",\n\"\"]\ndecision = \"deny\"\npriority = 1\n", "4 toolName schema_validation error empty string", false},
	"one tool is a number":  {"[[rule]]\ntoolName = [\"glob\", 2]\ndecision = \"deny\"\npriority = 1\n", "2 toolName schema_validation error the integer 2", false},
	"decision misspelt":     {"[[rule]]\ntoolName = \"glob\"\ndecision = \"ask\"\npriority = 1\n", "3 decision schema_validation error Use one of allow, deny, ask_user", false},
	"decision near":         {"[[rule]]\ntoolName = \"glob\"\ndecision = \"Allow\"\npriority = 1\n", "3 decision schema_validation error Did you mean allow?", false},
	"decision is true":      {"[[rule]]\ntoolName = \"glob\"\ndecision = true\npriority = 1\n", "3 decision schema_validation error a boolean", false},
	"priority too high":     {"[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 1000\n", "4 priority schema_validation error from 0 to 999", false},
	"priority below":        {"[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = -1\n", "4 priority schema_validation error from 0 to 999", false},
	"priority broken":       {"[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 1.5\n", "4 priority schema_validation error the number 1.5", false},
	"priority as text":      {"[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = \"1\"\n", "4 priority schema_validation error a string", false},
	"priority is a date":    {"[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 2026-01-01\n", "4 priority schema_validation error a date", false},
	"server is empty":       {deny(`mcpName = ""`), "5 mcpName schema_validation error empty", false},
	"server is a list":      {deny(`mcpName = ["a"]`), "5 mcpName schema_validation error must be a string", false},
	"only a bad server":     {"[[rule]]\nmcpName = \"\"\ndecision = \"deny\"\npriority = 1\n", "2 mcpName schema_validation error empty", false},
	"subagent is empty":     {deny(`subagent = ""`), "5 subagent schema_validation error empty", false},
	"name of two lines":     {deny(`name = "a\nb"`), "5 name schema_validation error line break", false},
	"interactive as text":   {deny(`interactive = "true"`), "5 interactive schema_validation error true or false", false},
	"modes as text":         {deny(`modes = "yolo"`), "5 modes schema_validation error an array of strings", false},
	"unknown mode":          {deny(`modes = ["default", "yolo!"]`), "5 modes schema_validation error Did you mean yolo?", false},
	"mode in kebab case":    {deny(`modes = ["auto-edit"]`), "5 modes schema_validation error Did you mean autoEdit?", false},
	"unknown effect":        {deny(`effects = ["networks"]`), "5 effects schema_validation error Did you mean network?", false},
	"no effects":            {deny(`effects = []`), "5 effects schema_validation error empty", false},
	"annotations as text":   {deny(`toolAnnotations = "x"`), "5 toolAnnotations schema_validation error a table", false},
	"no annotations":        {deny(`toolAnnotations = {}`), "5 toolAnnotations schema_validation error empty", false},
	"redirection as number": {allow(`allowRedirection = 1`), "5 allowRedirection schema_validation error true or false", false},
	"message as number":     {deny(`denyMessage = 1`), "5 denyMessage schema_validation error a string", false},
	"two spellings":         {deny(`deny_message = "b"`, `denyMessage = "a"`), "5 deny_message two_spellings warning denyMessage applies", true},
	"two redirections":      {allow(`allowRedirection = false`, `allow_redirection = true`), "6 allow_redirection two_spellings warning allowRedirection applies", true},

	"bracket not closed":  {deny(`argsPattern = "("`), "5 argsPattern regex_compilation error missing closing )", false},
	"looks ahead":         {deny(`argsPattern = "(?=x)"`), "5 argsPattern regex_compilation error lookaround", false},
	"does not look ahead": {deny(`argsPattern = "rm (?!-i)"`), "5 argsPattern regex_compilation error lookaround", false},
	"looks behind":        {deny(`argsPattern = "(?<!a)x"`), "5 argsPattern regex_compilation error lookaround", false},
	"refers back":         {deny(`argsPattern = '(a)\1'`), "5 argsPattern regex_compilation error back reference", false},
	"explodes":            {deny(`argsPattern = "(a+)+$"`), "5 argsPattern regex_compilation error nests repetitions", false},
	"too long":            {deny(`argsPattern = "` + strings.Repeat("x", 2049) + `"`), "5 argsPattern regex_compilation error 2049 bytes", false},
	"pattern is empty":    {deny(`argsPattern = ""`), "5 argsPattern schema_validation error empty", false},
	"pattern is a list":   {deny(`argsPattern = ["a"]`), "5 argsPattern schema_validation error a string", false},
	"command pattern":     {command(`commandRegex = "["`), "5 commandRegex regex_compilation error missing closing ]", false},

	"prefix of another tool": {allow(`commandPrefix = "git"`), "5 commandPrefix rule_validation error tools other than run_shell_command", false},
	"regex of another tool":  {allow(`commandRegex = "git"`), "5 commandRegex rule_validation error tools other than run_shell_command", false},
	"prefix of a server":     {"[[rule]]\nmcpName = \"s\"\ndecision = \"allow\"\npriority = 1\ncommandPrefix = \"git\"\n", "5 commandPrefix rule_validation error other tools", false},
	"prefix of two tools":    {"[[rule]]\ntoolName = [\"run_shell_command\", \"glob\"]\ndecision = \"allow\"\npriority = 1\ncommandPrefix = \"git\"\n", "5 commandPrefix rule_validation error other tools", false},
	"prefix of all tools":    {"[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 1\ncommandPrefix = \"git\"\n", "5 commandPrefix rule_validation error other tools", false},
	"prefix and regex":       {command(`commandPrefix = "git"`, `commandRegex = "git"`), "6 commandRegex rule_validation error one of argsPattern", false},
	"prefix and pattern":     {command(`argsPattern = "git"`, `commandPrefix = "git"`), "6 commandPrefix rule_validation error one of argsPattern", false},
	"no prefixes":            {command(`commandPrefix = []`), "5 commandPrefix schema_validation error empty", false},
	"prefix is empty":        {command(`commandPrefix = ""`), "5 commandPrefix schema_validation error empty", false},
	"one prefix is empty":    {command(`commandPrefix = ["ls", " "]`), "5 commandPrefix schema_validation error empty string", false},
	"prefix is a number":     {command(`commandPrefix = 5`), "5 commandPrefix schema_validation error a string or an array", false},
	"prefix does not parse":  {command(`commandPrefix = "git '"`), "5 commandPrefix rule_validation error not the beginning of a command", false},

	"unknown in allow":    {command(`comandPrefix = "git"`), "5 comandPrefix unknown_key error Did you mean commandPrefix?", false},
	"unlike in allow":     {allow(`only_on = "monday"`), "5 only_on unknown_key error Remove it", false},
	"harmless in allow":   {allow(`denyMesage = "x"`), "5 denyMesage unknown_key warning Did you mean denyMessage?", true},
	"unknown in deny":     {deny(`comandPrefix = "git"`), "5 comandPrefix unknown_key warning Did you mean commandPrefix?", true},
	"checker in allow":    {allow(`[rule.safety_checker]`, `type = "x"`), "5 safety_checker.name schema_validation error missing; 6 safety_checker.type schema_validation error Use one of in-process, external", false},
	"checker in deny":     {deny(`[[rule.safety_checker]]`), "5 safety_checker.type schema_validation error missing; 5 safety_checker.name schema_validation error missing", true},
	"checker as text":     {deny(`safety_checker = "conseca"`), "5 safety_checker schema_validation error a table", true},
	"no checkers":         {allow(`safety_checkers = []`), "5 safety_checkers schema_validation error a table", false},
	"unknown nested":      {allow(`[rule.safety_checker]`, `type = "in-process"`, `name = "allowed-pth"`), "7 safety_checker.name schema_validation error Did you mean allowed-path?", false},
	"tool with a typo":    {"[[rule]]\ntoolName = \"wirte_file\"\ndecision = \"deny\"\npriority = 1\n", "2 toolName tool_name_warning warning Did you mean write_file?", true},
	"old names of MCP":    {"[[rule]]\ntoolName = \"git__push\"\ndecision = \"deny\"\npriority = 1\n", "2 toolName tool_name_warning warning two underscores", true},
	"no tool of a server": {"[[rule]]\ntoolName = \"mcp_git\"\ndecision = \"deny\"\npriority = 1\n", "2 toolName tool_name_warning warning no tool of an MCP server", true},

	"no checker":              {check(), "1 checker schema_validation error missing", false},
	"checker is text":         {check(`checker = "conseca"`), "3 checker schema_validation error a table", false},
	"checker without a type":  {check(`checker = {name = "conseca"}`), "3 checker.type schema_validation error missing", false},
	"checker without a name":  {check(`checker = {type = "external"}`), "3 checker.name schema_validation error missing", false},
	"checker of unknown type": {check(`[safety_checker.checker]`, `type = "inprocess"`, `name = "x"`), "4 checker.type schema_validation error Did you mean in-process?", false},
	"unknown checker":         {check(`[safety_checker.checker]`, `type = "in-process"`, `name = "allowed_path"`), "5 checker.name schema_validation error Did you mean allowed-path?", false},
	"name of a program":       {check(`checker = {type = "external", name = "../x"}`), "3 checker.name schema_validation error lower-case", false},
	"unknown context":         {check(`checker = {type = "external", name = "x", required_context = ["env"]}`), "3 checker.required_context schema_validation error Use one of environment, history", false},
	"checker's settings":      {check(`checker = {type = "external", name = "x", config = 5}`), "3 checker.config schema_validation error a table", false},
	"unknown in checker":      {check(`checker = {type = "external", name = "x", nam = 5}`, `decision = "deny"`), "3 checker.nam unknown_key warning Did you mean name?; 4 decision unknown_key warning Remove it", false},
	"checker's pattern":       {check(`argsPattern = "(?!a)"`, `checker = {type = "external", name = "x"}`), "3 argsPattern regex_compilation error lookaround", false},
	"checker's priority":      {check(`priority = 99999999999`, `checker = {type = "external", name = "x"}`), "3 priority schema_validation error integer", false},

	"test without a tool":     {"[[test]]\ndecision = \"allow\"\n", "1 toolName schema_validation error missing", false},
	"test without a verdict":  {"[[test]]\ntoolName = \"x\"\n", "1 decision schema_validation error missing", false},
	"test of unknown verdict": {"[[test]]\ntool = \"x\"\nexpect = \"yes\"\n", "3 expect schema_validation error Use one of", false},
	"unknown in test":         {test(`arg = {}`), "4 arg unknown_key error Did you mean args?", false},
	"command and args":        {test(`args = {}`, `command = "ls"`), "5 command rule_validation error args or a command", false},
	"both names":              {test(`tool = "x"`), "4 tool two_spellings error same key", false},
	"test's mode":             {test(`mode = "fast"`), "4 mode schema_validation error Use one of", false},
	"command is a number":     {test(`command = 1`), "4 command schema_validation error a string", false},
	"command of another tool": {test(`command = "ls"`), "4 command rule_validation error run_shell_command", false},
	"args are text":           {test(`args = "x"`), "4 args schema_validation error a table", false},
	"args hold infinity":      {test(`args = {a = inf}`), "4 args schema_validation error JSON", false},
	"test's interactive":      {test(`interactive = 1`), "4 interactive schema_validation error true or false", false},
}

// CF-05: each mistake is reported with line and key and drops only the table that
// contains it.
func TestMistakes(t *testing.T) {
	require.GreaterOrEqual(t, len(mistakes), 60)
	for name, tt := range mistakes {
		t.Run(name, func(t *testing.T) {
			file, problems := rulefile.Parse("p.toml", []byte(tt.text+good), user)
			wanted := strings.Split(tt.want, "; ")
			require.Len(t, problems, len(wanted), "%v", problems)
			for i, want := range wanted {
				p := problems[i]
				fields := strings.SplitN(want, " ", 5)
				require.Equal(t, strings.Join(fields[:4], " "), fmt.Sprintf("%d %s %s %s", p.Line, p.Key, p.Kind, p.Severity), "%s", p)
				require.Contains(t, p.Message+" "+p.Remedy, fields[4])
				require.NotContains(t, p.String(), "\n")
				require.True(t, strings.HasPrefix(p.String(), fmt.Sprintf("p.toml:%d: ", p.Line)), "%s", p)
				require.Less(t, len(p.String()), 400)
			}
			var lines []int
			for _, rule := range file.Rules {
				if rule.Name != "good" {
					lines = append(lines, rule.Line)
				}
			}
			require.Equal(t, tt.kept, len(lines) > 0, "rules in lines %v", lines)
			broken := problems[0].Kind == rulefile.KindTOML
			require.Equal(t, !broken, slices.ContainsFunc(file.Rules, func(r policy.Rule) bool { return r.Name == "good" }))
			if broken {
				require.Empty(t, file.Checkers)
				require.True(t, slices.ContainsFunc(file.StandIns, func(r policy.Rule) bool {
					return r.Name == "good" && r.Decision == policy.Deny && r.Line == strings.Count(tt.text, "\n")+2
				}), "what denies is kept for whoever wants it: %v", file.StandIns)
			}
			require.Empty(t, file.Tests)
		})
	}
}

// Several mistakes are reported in file order, and none hides another.
func TestAllMistakesAtOnce(t *testing.T) {
	file, problems := rulefile.Parse("p.toml", []byte(`
[[rule]]
modes = ["x"]
priority = 1000
decision = "dney"
toolName = ""
argsPattern = "("
[[rules]]
[[rule]]
priority = 5
`), user)
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d %s", p.Line, p.Key))
	}
	require.Equal(t, []string{"3 modes", "4 priority", "5 decision", "6 toolName", "7 argsPattern", "8 rules", "9 decision", "9 toolName"}, got)
	require.Empty(t, file.Rules)
}

func TestProblemString(t *testing.T) {
	p := fault.Problem{Path: "a.toml", Line: 3, Key: "priority", Message: "It is\n1000.", Remedy: "Write less."}
	require.Equal(t, "a.toml:3: priority: It is 1000. Write less.", p.String())
	require.Equal(t, "a.toml: Gone.", fault.Problem{Path: "a.toml", Message: "Gone."}.String())
}
