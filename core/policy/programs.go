package policy

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// habits is how a program reads its words, as far as rules need to know.
type habits struct {
	// valued are the options before the subcommand that take the next word as
	// their value; nil if it is not known which do.
	valued     []string
	idle       []string        // options that change nothing but how it prints
	singleDash bool            // -name is one option, not four
	long       map[rune]string // short options and their long names
	toolchain  bool            // +NAME may stand before the subcommand
	refspecs   bool            // what push pushes may say that it forces or deletes
	// shortens are subcommands that are no beginning of another one, of a program
	// that takes the beginning of a subcommand for it; nil: it does not.
	shortens []string
}

// habitsOf has a row for each program whose words would otherwise be read
// wrong by rules that deny or ask. Add one here when a rule misses, or asks
// where it should deny.
var habitsOf = map[string]habits{
	"git": {
		valued: []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"},
		idle:   []string{"--no-pager", "-P", "--no-optional-locks"},
		long:   map[rune]string{'f': "force", 'd': "delete", 'a': "all"},

		refspecs: true,
	},
	"rm":        {valued: []string{}, long: map[rune]string{'r': "recursive", 'R': "recursive", 'f': "force", 'd': "dir"}},
	"cp":        {long: map[rune]string{'r': "recursive", 'R': "recursive", 'f': "force"}},
	"chmod":     {long: map[rune]string{'R': "recursive", 'f': "silent"}},
	"chown":     {long: map[rune]string{'R': "recursive", 'h': "no-dereference"}},
	"npm":       {valued: []string{"--prefix", "-C", "-w", "--workspace", "--registry", "--userconfig", "--cache", "--loglevel"}, shortens: strings.Fields("c ci i in it l la ll ln ls r rb rm root run s se set t team test up v version view x")},
	"ip":        {shortens: []string{}},
	"hg":        {shortens: strings.Fields("add b branch ci co diff heads id in log merge out pull push st status sum tag tip up update")},
	"pnpm":      {valued: []string{"--dir", "-C", "--filter", "-F", "--reporter", "--loglevel"}},
	"yarn":      {valued: []string{"--cwd", "--registry"}},
	"docker":    {valued: []string{"-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "--tlscacert", "--tlscert", "--tlskey"}},
	"podman":    {valued: []string{"--url", "--connection", "-c", "--identity", "--log-level", "--root", "--runroot"}},
	"kubectl":   {valued: []string{"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server", "--token", "--as"}},
	"helm":      {valued: []string{"-n", "--namespace", "--kube-context", "--kubeconfig"}},
	"gh":        {valued: []string{"-R", "--repo", "--hostname"}},
	"go":        {valued: []string{"-C"}, singleDash: true},
	"cargo":     {valued: []string{"-C", "-Z", "--config", "--color", "--manifest-path"}, toolchain: true},
	"rustc":     {toolchain: true},
	"make":      {valued: []string{"-C", "--directory", "-f", "--file", "--makefile", "-I", "--include-dir", "-o", "-W"}},
	"systemctl": {valued: []string{"-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property", "--root"}},
	"find":      {valued: []string{}, singleDash: true},
	"terraform": {valued: []string{}, singleDash: true},
	"java":      {singleDash: true},
	"openssl":   {singleDash: true},
}

// quiet are programs that run no other program that their words name: for all
// other programs, words that read like a guarded command may be one.
var quiet = strings.Fields(`
	[ arch ascii b2sum base32 base64 basename bat bc bzip2 cal cat cd chattr chgrp chmod chown cksum clear cmp
	column comm cp csplit cut date dd df diff diff3 dig dir dircolors dirname du echo egrep expand expr
	factor false fgrep file find fmt fold free getconf getent getfacl git glab gh go gofmt golangci-lint
	grep groups gunzip gzip head hexdump host hostid hostname iconv id info install ip jobs join jq
	kill killall link ln locale locate logger logname look ls lsattr lsblk lscpu lsof man md5sum mkdir
	mkfifo mknod mktemp more mv nc netstat nl node nproc nslookup numfmt od openssl paste patch patchelf
	pgrep ping pkill pr printenv printf ps pwd python python3 readelf readlink realpath rev rg rm rmdir
	ruby sed seq sha1sum sha224sum sha256sum sha384sum sha512sum shasum shred shuf sleep sort split ss
	stat strings strip sum sync tac tail tar tee test touch tr tree true truncate tsort tty type uname
	unexpand uniq unlink unzip uptime users vdir vmstat wc wget whatis whereis which who whoami xxd xz
	xzcat yes yq zcat zip zstd npm pnpm yarn pip pip3 cargo rustc rustfmt gcc g++ clang cc make cmake
	ninja mvn gradle javac java dotnet curl kubectl helm terraform docker podman systemctl journalctl
	apt apt-get dnf yum brew pacman awk gawk mawk perl prettier eslint tsc jest pytest mypy ruff black
	staticcheck gopls protoc hg svn ssh-keygen gpg sqlite3 psql mysql redis-cli export unset local
	declare readonly let set shift return exit read trap umask ulimit wait alias unalias
`)

// runsNothing reports whether a program is known to run no other program that
// its words name, so that rm in: grep rm file, is a mere word.
func runsNothing(program string) bool {
	_, found := slices.BinarySearch(quietSorted, programName(program))
	return found
}

var quietSorted = slices.Sorted(slices.Values(quiet))

// exactPrograms delete, overwrite, send, or run what their words say, so that
// approving one use of them approves nothing else.
var exactPrograms = strings.Fields(`
	. aa-exec ash awk aws az bash bunx bwrap chgrp chmod chown chpasswd chroot cp crontab curl dash dd doas docker env
	eval exec fdisk find firejail firewall-cmd flock gawk gcloud gh glab groupadd groupdel groupmod halt helm install
	ip ip6tables iptables java kill killall ksh kubectl ln lua mawk mkfs mount mv mysql nc ncat nft node npx nsenter
	osascript parallel passwd perl php pkexec pkill podman poweroff powershell psql pulumi pwsh python python2 python3
	reboot rm rmdir rsync ruby runuser scp script sed service sftp sh shred shutdown source sqlite3 ssh su sudo
	systemctl systemd-run tar tclsh tee telnet terraform timeout tofu truncate ufw umount unlink unshare unzip useradd
	userdel usermod visudo watch wget xargs zip zsh
`)

// exactSubcommands destroy, overwrite or publish for some of their arguments,
// whatever the program, so that approving one use approves nothing else.
var exactSubcommands = strings.Fields(`
	autoremove branch checkout clean delete del deploy destroy drop filter-branch gc nuke prune publish purge push
	rebase reflog release remote remove reset restore rm rollback stash switch tag un uninstall unlink unpublish
	update-ref worktree yank
`)

// runners are subcommands that run what the words after them say.
var runners = []string{"run", "exec", "x", "dlx", "create", "init", "start", "generate"}

// suggested returns the words of a prefix that would allow a part and what is
// like it: the program, and its subcommand where it has some. For programs and
// subcommands that do what their words say, and where an option stands before the
// subcommand, these are all words.
func suggested(p *shell.Part) []string {
	var words []string
	for _, w := range p.Words {
		if !fixed(w) {
			break
		}
		words = append(words, w.Text)
	}
	if len(words) < 2 {
		return words
	}
	program := programName(words[0])
	switch {
	case slices.Contains(exactPrograms, program):
		return words
	case !shell.Subcommands(program):
		return words[:1]
	case isOption(words[1]) || slices.Contains(runners, words[1]) || slices.Contains(exactSubcommands, words[1]):
		return words
	}
	return words[:2]
}
