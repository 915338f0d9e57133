package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// harmlessVariables lists variables that make no program run, load or read
// anything, in addition to those of the table. A name that ends with * matches
// all with that prefix. A space is before and after each.
const harmlessVariables = " LANG LANGUAGE LC_* TZ TERM LINES COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI DEBUG VERBOSE USER LOGNAME PWD OLDPWD SHLVL HOSTNAME TMPDIR TMP TEMP " +
	"GOOS GOARCH GOARM GOAMD64 GOARM64 GO386 GOMIPS GOPPC64 GORISCV64 GOWASM GOMAXPROCS GOGC GOMEMLIMIT GODEBUG GOTRACEBACK GORACE GOEXPERIMENT GO111MODULE GOTMPDIR GOPRIVATE GOSUMDB GOTELEMETRY " +
	"RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS RUST_MIN_STACK OMP_NUM_THREADS SOURCE_DATE_EPOCH MAKELEVEL PORT HOST APP_ENV RAILS_ENV RACK_ENV FLASK_ENV BABEL_ENV LOG_LEVEL DOTNET_ENVIRONMENT ASPNETCORE_ENVIRONMENT " +
	"FETTLE_FULL BLOCKSIZE BLOCK_SIZE TIME_STYLE QUOTING_STYLE LS_COLORS GREP_COLOR GREP_COLORS JQ_COLORS TIMEFORMAT HISTSIZE HISTFILESIZE DEBIAN_FRONTEND IFS CDPATH OPTIND OPTERR "

// isHarmless reports whether a name is one of harmlessVariables.
func isHarmless(name string) bool {
	return !strings.Contains(name, " ") && strings.Contains(harmlessVariables, " "+name+" ")
}

// isListed reports whether the effect of a variable on programs is known.
func isListed(name string) bool {
	if _, ok := variables()[name]; ok || isHarmless(name) {
		return true
	}
	for n := len(name); n > 0; n-- {
		if _, ok := variables()[name[:n]+"*"]; ok || isHarmless(name[:n]+"*") {
			return true
		}
	}
	return false
}

// exported adds a part if programs receive an unknown variable, unless its value
// cannot name something to run: a number, yes or no.
func (a *analysis) exported(sc *scope, name string, value arg) {
	if isListed(name) || value.number || value.facts != nil && namesNothing(*value.facts) || value.Static && isSwitch(value.Text) {
		return
	}
	a.add(sc, Part{Kind: Unknown, Option: true, Text: name + "=" + value.text(), Reason: "programs may run or load something because of " + name + ", which is not known to be harmless"})
}

// exportedLater is exported for a variable that already has its value.
func (a *analysis) exportedLater(sc *scope, name string) {
	if f := a.values[canonicalName(name)]; f != nil {
		value := dynamic("…")
		value.facts = f
		a.exported(sc, name, value)
	}
}

// namesNothing reports whether a value is certainly a number, yes or no.
func namesNothing(f facts) bool {
	return !f.unknown && !f.start.isOther() && len(f.reads) == 0 && !slices.ContainsFunc(f.texts, func(s string) bool { return !isSwitch(s) })
}

func isSwitch(s string) bool {
	return isDigits(strings.TrimPrefix(strings.ReplaceAll(s, ".", ""), "-")) ||
		slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s))
}

// isGuard reports whether a variable prevents programs from running files named
// by their working directory. Commands begin with such variables.
func isGuard(name string) bool {
	return strings.HasPrefix(name, "GIT_CONFIG_") || in("GIT_NO_LAZY_FETCH GOTOOLCHAIN RUSTUP_TOOLCHAIN", name)
}

// unguards adds a part if a word names such a variable and unsets it.
func (a *analysis) unguards(sc *scope, w arg) {
	if w.Static && isGuard(w.Text) || slices.ContainsFunc(w.values, isGuard) || slices.ContainsFunc(w.Candidates, isGuard) {
		a.unknown(sc, w.text(), "without the variable, programs may run code that the directory names")
	}
}

// needsGuard reports whether these variables affect a program.
func needsGuard(program string) bool {
	return in("git go gofmt cargo rustc rustdoc rustfmt rustup clippy-driver", program)
}

// exports reports whether a declaration exports its variables to programs.
func exports(d *syntax.DeclClause, ws []arg) bool {
	return d.Variant.Value == "export" || slices.ContainsFunc(ws[1:], func(w arg) bool {
		return strings.HasPrefix(w.head, "-") && strings.Contains(w.template, "x")
	})
}
