package shell

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// effect is the possible effect of setting a variable.
type effect int

const (
	harmless  effect = iota
	loads            // programs run, load or read other files because of it
	command          // its value is a command line that programs run
	switches         // harmless if its value is a plain word, a number or empty
	flags            // harmless without options that run or load something
	places           // harmless if its value consists of directories below the initial one
	splits           // bash splits words differently
	evaluated        // bash evaluates its value as arithmetic, in which a subscript may run commands
)

// variables lists variables whose setting is not harmless. A name that ends with
// * matches all with that prefix; the longest name takes precedence.
var variables = sync.OnceValue(func() map[string]effect {
	return map[string]effect{
		// The shell and the loader.
		"PATH": loads, "LD_*": loads, "DYLD_*": loads, "BASH_ENV": loads, "ENV": loads,
		"SHELLOPTS": loads, "BASHOPTS": loads, "BASH_FUNC_*": loads, "BASH_LOADABLES_PATH": loads, "BASH_XTRACEFD": loads,
		"PROMPT_COMMAND": loads, "PS0": loads, "PS1": loads, "PS2": loads, "PS4": loads, "SHELL": loads,
		"IFS": splits, "BASH_ALIASES": loads, "BASH_CMDS": loads, "BASH_COMPAT": loads, "POSIXLY_CORRECT": switches, "GLOBIGNORE": switches,
		"GCONV_PATH": loads, "LOCPATH": loads, "NLSPATH": loads, "MALLOC_*": harmless, "HOSTALIASES": loads,
		"INPUTRC": loads, "TERMINFO*": loads, "TERMCAP": loads, "HISTFILE": loads, "CDPATH": harmless,
		// The shell's own integers.
		"RANDOM": evaluated, "SRANDOM": evaluated, "SECONDS": evaluated, "LINENO": evaluated, "HISTCMD": evaluated, "OPTIND": evaluated,
		"BASHPID": evaluated, "BASH_SUBSHELL": evaluated, "BASH_MONOSECONDS": evaluated, "EPOCHSECONDS": evaluated, "EPOCHREALTIME": evaluated,
		"PPID": evaluated, "UID": evaluated, "EUID": evaluated, "BASH_ARGC": evaluated, "BASH_LINENO": evaluated,
		// Locations of settings of programs.
		"HOME": loads, "XDG_CONFIG_*": loads, "XDG_DATA_*": loads, "USERPROFILE": loads, "APPDATA": loads, "NETRC": loads,
		"WGETRC": loads, "CURL_HOME": loads, "CURL_CONFIG": loads, "GNUPGHOME": loads, "KUBECONFIG": loads, "AWS_CONFIG_FILE": loads,
		"AWS_SHARED_CREDENTIALS_FILE": loads, "DOCKER_CONFIG": loads, "DOCKER_HOST": loads, "RIPGREP_CONFIG_PATH": loads,
		"BAT_CONFIG_*": loads, "FZF_*": loads, "LESSKEY*": loads, "SCREENRC": loads, "VIMINIT": loads, "EXINIT": loads, "VIM": loads,
		"VIMRUNTIME": loads, "MYVIMRC": loads, "GVIMINIT": loads, "OPENSSL_CONF": loads, "OPENSSL_ENGINES": loads, "OPENSSL_MODULES": loads,
		"ANSIBLE_*": loads, "TF_CLI_*": loads, "TF_PLUGIN_*": loads, "PGPASSFILE": loads, "PSQLRC": loads, "PAGERRC": loads,
		// Programs that other programs run.
		"PAGER": command, "MANPAGER": command, "BAT_PAGER": command, "DELTA_PAGER": command, "AWS_PAGER": command, "GH_PAGER": command,
		"PSQL_PAGER": command, "SYSTEMD_PAGER": command, "GIT_PAGER": command, "EDITOR": command, "VISUAL": command, "FCEDIT": command,
		"GIT_EDITOR": command, "GIT_SEQUENCE_EDITOR": command, "SUDO_EDITOR": command, "KUBE_EDITOR": command, "BROWSER": command,
		"GH_EDITOR": command, "HGEDITOR": command, "SVN_EDITOR": command, "CVS_RSH": loads, "RSYNC_*": loads, "SVN_SSH": loads,
		"LESSOPEN": loads, "LESSCLOSE": loads, "LESS": flags, "MORE": flags, "MANOPT": flags, "MANROFFOPT": loads, "SSH_ASKPASS": loads,
		"SUDO_ASKPASS": loads, "TAR_OPTIONS": loads, "TAPE": loads, "RSH": loads, "GZIP": flags, "ZIPOPT": loads, "UNZIP": flags,
		// git: unlisted variables name programs, settings or directories.
		"GIT_*": loads, "GIT_SSH_COMMAND": command, "GIT_AUTHOR_*": harmless, "GIT_COMMITTER_*": harmless, "GIT_TERMINAL_PROMPT": harmless, "GIT_OPTIONAL_LOCKS": harmless,
		"GIT_MERGE_AUTOEDIT": harmless, "GIT_REFLOG_ACTION": harmless, "GIT_PAGER_IN_USE": harmless, "GIT_FLUSH": harmless,
		"GIT_LITERAL_PATHSPECS": harmless, "GIT_GLOB_PATHSPECS": harmless, "GIT_NOGLOB_PATHSPECS": harmless, "GIT_ICASE_PATHSPECS": harmless,
		"GIT_LFS_SKIP_SMUDGE": harmless, "GIT_ADVICE": harmless, "GIT_DEFAULT_HASH": harmless, "GIT_TRACE*": switches, "GIT_CURL_VERBOSE": switches,
		"GIT_CEILING_DIRECTORIES": harmless, "GIT_DISCOVERY_ACROSS_FILESYSTEM": harmless, "GIT_ATTR_NOSYSTEM": harmless, "GIT_CONFIG_NOSYSTEM": harmless,
		// Compilers and languages.
		"PYTHON*": loads, "PYTHONPATH": places, "PERL5LIB": places, "RUBYLIB": places, "NODE_PATH": places, "PYTHONUNBUFFERED": harmless, "PYTHONDONTWRITEBYTECODE": harmless, "PYTHONIOENCODING": harmless, "PYTHONUTF8": harmless,
		"PYTHONHASHSEED": harmless, "PYTHONWARNINGS": switches, "PYTHONFAULTHANDLER": switches, "PYTHONOPTIMIZE": switches, "PYTHONTRACEMALLOC": switches,
		"PERL5*": loads, "PERLLIB": loads, "PERL_UNICODE": harmless, "RUBY*": loads, "GEM_*": loads, "BUNDLE_*": loads, "BUNDLE_WITHOUT": harmless,
		"NODE_*": loads, "NODE_ENV": harmless, "NODE_NO_WARNINGS": harmless, "NODE_DEBUG": harmless, "NODE_DISABLE_COLORS": harmless, "NODE_OPTIONS": flags,
		"NODE_TEST_CONTEXT": harmless, "DENO_*": loads, "BUN_*": loads, "LUA_*": loads, "JAVA_TOOL_OPTIONS": loads, "_JAVA_OPTIONS": loads, "JDK_*": loads,
		"JAVA_HOME": loads, "CLASSPATH": loads, "MAVEN_OPTS": loads, "GRADLE_OPTS": loads, "JAVA_OPTS": loads, "CATALINA_*": loads,
		"PHPRC": loads, "PHP_INI_SCAN_DIR": loads, "R_*": loads, "JULIA_*": loads, "ERL_*": loads, "ELIXIR_*": loads, "MIX_*": loads, "MIX_ENV": harmless,
		"GOFLAGS": flags, "GOROOT": loads, "GOPATH": loads, "GOENV": loads, "GOTOOLDIR": loads, "GOTOOLCHAIN": loads, "GOBIN": loads, "GOAUTH": loads, "GOVCS": loads,
		"GO_EXTLINK_ENABLED": harmless, "GOPACKAGESDRIVER": loads, "GCCGO": loads, "GOPROXY": loads, "GONOSUMDB": loads, "GONOSUMCHECK": loads, "GOINSECURE": loads, "GONOPROXY": loads,
		"CC": loads, "CXX": loads, "CPP": loads, "FC": loads, "LD": loads, "AR": loads, "AS": loads, "NM": loads, "RANLIB": loads, "STRIP": loads,
		"OBJCOPY": loads, "PKG_CONFIG*": loads, "CGO_*": flags, "CGO_ENABLED": harmless, "CFLAGS": flags, "CXXFLAGS": flags, "CPPFLAGS": flags, "LDFLAGS": flags,
		"GCC_EXEC_PREFIX": loads, "COMPILER_PATH": loads, "CCACHE_*": loads, "CMAKE_*": loads, "RUSTC*": loads, "RUSTDOC*": loads, "RUSTFLAGS": flags, "RUSTUP_*": loads,
		"CARGO_*": loads, "CARGO_TERM_*": harmless, "CARGO_INCREMENTAL": harmless, "CARGO_NET_OFFLINE": harmless, "CARGO_TARGET_DIR": harmless,
		"MAKEFLAGS": loads, "GNUMAKEFLAGS": loads, "MAKEFILES": loads, "MFLAGS": loads, "MAKE": loads, "NINJA": loads,
		"npm_*": loads, "NPM_*": loads, "YARN_*": loads, "PNPM_*": loads, "COREPACK_*": loads, "PIP_*": loads, "PIP_NO_INPUT": harmless,
		"PIP_DISABLE_PIP_VERSION_CHECK": harmless, "UV_*": loads, "POETRY_*": loads, "VIRTUAL_ENV": loads, "CONDA_*": loads,
		"PYTEST_ADDOPTS": loads, "PYTEST_PLUGINS": loads, "TOX_*": loads, "JUPYTER_*": loads, "ESLINT_*": loads, "PRETTIER_*": loads,
		"GREP_OPTIONS": flags, "POSIX_ME_HARDER": harmless, "SSH_AUTH_SOCK": loads, "SSH_SK_*": loads, "PINENTRY_*": loads,
		"AWKPATH": loads, "AWKLIBPATH": loads, "AWK_*": loads, "GAWK_*": loads, "SED_*": loads, "ED_*": loads, "COLUMNS": harmless, "WATCH_*": loads,
	}
})

// effectOf returns the effect of a variable.
func effectOf(name string) effect {
	if e, ok := variables()[name]; ok {
		return e
	}
	for n := len(name); n > 0; n-- {
		if e, ok := variables()[name[:n]+"*"]; ok {
			return e
		}
	}
	return harmless
}

// assignment evaluates NAME=value before a command, or alone.
func (a *analysis) assignment(sc *scope, as *syntax.Assign) {
	if as.Name == nil {
		return
	}
	value := known("")
	switch {
	case as.Array != nil:
		value = dynamic(a.written(as))
		elements := a.arrayFacts(as.Array)
		value.facts = &elements
	case as.Value != nil:
		value = a.value(as.Value)
	}
	if as.Append {
		added := factsOf(value)
		if as.Array == nil {
			added.changed(atText)
		}
		value = dynamic(value.text())
		value.facts = &added
	}
	a.assigned(sc, as.Name.Value, value)
	if a.exportsAll && as.Array == nil {
		a.exported(sc, as.Name.Value, value)
	}
}

// assigned adds a part if a variable's new value makes programs run or load
// something.
func (a *analysis) assigned(sc *scope, name string, value arg) {
	a.learn(name, factsOf(value))
	a.setsDirs = a.setsDirs || in("PWD OLDPWD CDPATH DIRSTACK", name)
	a.dotglob = a.dotglob || name == "GLOBIGNORE"
	shown := name + "=" + value.text()
	switch effectOf(name) {
	case harmless:
		return
	case splits:
		a.setsIFS = true
		return
	case command:
		if value.Static && strings.TrimSpace(value.Text) == "" {
			return
		}
		a.scriptIn(sc.inside(), value)
		return
	case switches:
		if value.number || value.Static && !strings.ContainsAny(value.Text, "/$`(") {
			return
		}
	case evaluated:
		if value.number || value.Static && (value.Text == "" || isDigits(strings.TrimPrefix(value.Text, "-"))) {
			return
		}
		a.unknown(sc, shown, "bash evaluates the value of "+name+", which may run a command")
		return
	case places:
		if value.Static && !slices.ContainsFunc(strings.Split(value.Text, ":"), leadsAway) {
			return
		}
	case flags:
		if value.Static && !slices.ContainsFunc(strings.Fields(value.Text), isLoadingFlag) {
			return
		}
	}
	a.unknown(sc, shown, name+" may make programs of the line run or load other code")
}

// leadsAway reports whether a path may leave the directory in which it starts.
func leadsAway(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") || slices.Contains(strings.Split(path, "/"), "..")
}

// assignedNumber adds a part if arithmetic assigns a variable that makes programs
// run something: PATH=1 is a directory too.
func (a *analysis) assignedNumber(sc *scope, x syntax.ArithmExpr, n syntax.Node) {
	w, ok := x.(*syntax.Word)
	if !ok || !syntax.ValidName(w.Lit()) {
		return
	}
	a.dotglob = a.dotglob || w.Lit() == "GLOBIGNORE"
	if e := effectOf(w.Lit()); e != harmless && e != switches && e != evaluated {
		a.assigned(sc, w.Lit(), dynamic(a.written(n)))
	}
}

// isLoadingFlag reports whether an option in a variable with options may make a
// program run or load something. It knows the options of compilers, go, node and
// less.
func isLoadingFlag(flag string) bool {
	name := strings.TrimLeft(flag, "-")
	switch {
	case name == flag: // less accepts +command; compilers accept @file
		return strings.HasPrefix(flag, "+") || strings.HasPrefix(flag, "@") || strings.HasPrefix(flag, "link") || strings.ContainsAny(flag, "!|`$")
	case strings.HasPrefix(name, "B") && !strings.HasPrefix(flag, "--"):
		return true
	}
	for _, bad := range []string{
		"exec", "toolexec", "vettool", "modfile", "overlay", "ldflags", "gcflags", "asmflags", "gccgoflags", "compiler", "C=", // go
		"require", "import", "loader", "experimental-loader", "r", "env-file", "inspect", "openssl", "conf", // node
		"fplugin", "specs", "wrapper", "fuse-ld", "Xclang", "load", "plugin", "Wl,", "Xlinker", "iplugindir", "linker", // compilers
		"o", "O", "k", "P", "t", "T", "lesskey", "log-file", // less
	} {
		if name == bad || strings.HasPrefix(name, bad+"=") || len(bad) > 2 && strings.HasPrefix(name, bad) {
			return true
		}
	}
	return strings.HasPrefix(name, "C") && strings.Contains(name, "linker")
}

// declare walks export, declare, local, readonly and typeset.
func (a *analysis) declare(sc *scope, d *syntax.DeclClause) int {
	ws := []arg{known(d.Variant.Value)}
	for _, as := range d.Args {
		w := dynamic(a.written(as))
		switch {
		case as.Naked && as.Name != nil && as.Index == nil:
			w = known(as.Name.Value)
		case as.Name == nil && as.Value != nil:
			w = a.one(as.Value)
		case as.Name != nil && as.Index == nil && as.Array == nil && !as.Append:
			if v := a.value(as.Value); v.Static {
				w = known(as.Name.Value + "=" + v.Text)
			}
		}
		ws = append(ws, w)
	}
	index := a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	a.references(sc, d, ws)
	arrays, cases := makesArrays(ws), changesCase(ws)
	for i, as := range d.Args {
		if as.Name != nil && arrays {
			a.array(as.Name.Value)
		}
		if as.Name != nil && cases {
			a.learn(as.Name.Value, otherCase)
		}
		if as.Name != nil && as.Naked {
			a.unguards(sc, known(as.Name.Value))
		}
		switch {
		case as.Name != nil && !as.Naked:
			a.assignment(sc, as)
			if as.Array == nil {
				a.declaredIn(sc, as.Name.Value, a.value(as.Value))
			}
			if exports(d, ws) && as.Array == nil && !a.exportsAll {
				a.exported(sc, as.Name.Value, a.value(as.Value))
			}
		case as.Name != nil && as.Index == nil && exports(d, ws):
			a.exportedLater(sc, as.Name.Value)
		case as.Name == nil:
			a.declared(sc, ws[i+1], arrays)
		}
	}
	a.substitutions(sc.inside(), d)
	sc.success = sc.dirs
	return index
}

// references evaluates the other effects of a declaration on variables: a
// variable may become an alias of one that makes programs run something, and a
// local one has no value at first.
func (a *analysis) references(sc *scope, d *syntax.DeclClause, ws []arg) {
	names := d.Variant.Value == "nameref"
	for _, w := range ws[1:] {
		names = names || strings.HasPrefix(w.template, "-") && strings.Contains(w.template, "n")
	}
	a.anyArray = a.anyArray || names
	if d.Variant.Value == "export" || d.Variant.Value == "readonly" {
		return
	}
	for _, as := range d.Args {
		switch {
		case as.Name == nil:
		case as.Naked && as.Name.Value == "PATH":
			a.assigned(sc, "PATH", dynamic("…"))
		case !names:
		case as.Naked:
			a.unknown(sc, a.written(d), "the target of the name reference is unknown")
		default:
			if v := a.value(as.Value); !v.Static || effectOf(v.Text) != harmless {
				a.unknown(sc, a.written(as), "it may refer to a variable that makes programs run other code")
			}
		}
	}
}

// declarations evaluates the arguments of export, declare and similar commands if
// they are words, because bash's parser has not recognized the command.
func (a *analysis) declarations(sc *scope, index int, ws []arg) {
	arrays, cases := makesArrays(ws), changesCase(ws)
	for i, w := range ws[1:] {
		if name, _, _ := strings.Cut(w.template, "="); cases && syntax.ValidName(strings.TrimSuffix(name, "+")) {
			a.learn(strings.TrimSuffix(name, "+"), otherCase)
		}
		if option := w.Static && len(w.Text) > 1 && strings.ContainsAny(w.Text[:1], "-+"); option && strings.ContainsAny(w.Text, "in") {
			a.runs(sc, index, i+1, w.text(), "bash may evaluate the value, or assign it to another variable")
		}
		a.declared(sc, w, arrays)
		a.unguards(sc, w)
		if name, value, ok := strings.Cut(w.template, "="); ws[0].is("export") && syntax.ValidName(name) {
			if v := known(value); ok && w.Static {
				a.exported(sc, name, v)
			} else if ok {
				a.exported(sc, name, dynamic(value))
			} else {
				a.exportedLater(sc, name)
			}
		}
	}
}

// declared evaluates an argument of export and similar commands that is a single
// word: an option, NAME=value, or unknown.
func (a *analysis) declared(sc *scope, w arg, arrays bool) {
	name, value, ok := strings.Cut(w.template, "=")
	if arrays {
		a.array(strings.TrimSuffix(name, "+"))
	}
	switch {
	case w.Static && (strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+")):
	case w.Static && ok && syntax.ValidName(strings.TrimSuffix(name, "+")):
		if strings.HasSuffix(name, "+") {
			a.learn(strings.TrimSuffix(name, "+"), facts{joins: true, start: atText})
		}
		a.assigned(sc, strings.TrimSuffix(name, "+"), known(value))
		a.declaredIn(sc, strings.TrimSuffix(name, "+"), known(value))
	case w.Static && syntax.ValidName(w.Text):
	case ok && strings.HasPrefix(w.head, name+"=") && syntax.ValidName(name):
		a.assigned(sc, name, dynamic(value))
		v := dynamic(value)
		v.head, v.number, v.facts = strings.TrimPrefix(w.head, name+"="), w.number, w.facts
		a.declaredIn(sc, name, v)
	default:
		a.unknown(sc, w.text(), "the name of the variable is unknown")
	}
}
