package policy

import (
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// wordList returns a function that returns the words of a text, sorted. They are
// split at the first call, because most runs of a program use few lists.
// sync.OnceValue would add more code to small programs.
func wordList(text string) func() []string {
	var once sync.Once
	var words []string
	return func() []string {
		once.Do(func() { words = slices.Sorted(strings.FieldsSeq(text)) })
		return words
	}
}

// habits describes how a program parses its words, as far as rules require.
type habits struct {
	// valued are the options before the subcommand that take the next word as
	// their value; nil if they are unknown.
	valued     []string
	idle       []string        // options that affect only its output
	moves      string          // the option that sets the working directory
	singleDash bool            // -name is one option, not four
	long       map[rune]string // short options and their long names
	toolchain  bool            // +NAME may precede the subcommand
	refspecs   bool            // arguments of push may force or delete
	// shortens are subcommands that are not a prefix of another one, of a program
	// that accepts abbreviated subcommands; nil: it does not.
	shortens []string
}

// habitsOf has a row for each program whose words rules that deny or ask would
// otherwise misread. Add one here when a rule misses a command, or asks where it
// should deny.
var habitsOf = map[string]habits{
	"git": {
		moves:  "-C",
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

// quiet lists programs that run no other program named by their words: for all
// other programs, words that look like a guarded command may be one. pnpm is no
// such program: an unknown subcommand of it is a program.
var quiet = wordList(`
	[ arch ascii b2sum base32 base64 basename bat bc bzip2 cal cat cd chattr chgrp chmod chown cksum clear cmp
	column comm cp csplit cut date dd df diff diff3 dig dir dircolors dirname du echo egrep expand expr
	factor false fgrep file find fmt fold free getconf getent getfacl git glab gh go gofmt golangci-lint
	grep groups gunzip gzip head hexdump host hostid hostname iconv id info install jobs join jq
	kill killall link ln locale locate logger logname look ls lsattr lsblk lscpu lsof man md5sum mkdir
	mkfifo mknod mktemp more mv nc netstat nl node nproc nslookup numfmt od openssl paste patch patchelf
	pgrep ping pkill pr printenv printf ps pwd python python3 readelf readlink realpath rev rg rm rmdir
	ruby sed seq sha1sum sha224sum sha256sum sha384sum sha512sum shasum shred shuf sleep sort split ss
	stat strings strip sum sync tac tail tar tee test touch tr tree true truncate tsort tty type uname
	unexpand uniq unlink unzip uptime users vdir vmstat wc wget whatis whereis which who whoami xxd xz
	xzcat yes yq zcat zip zstd npm yarn pip pip3 cargo rustc rustfmt gcc g++ clang cc make cmake
	ninja mvn gradle javac java dotnet curl kubectl helm terraform docker podman systemctl journalctl
	apt apt-get dnf yum brew pacman awk gawk mawk perl prettier eslint tsc jest pytest mypy ruff black
	staticcheck gopls protoc hg svn ssh-keygen gpg sqlite3 psql mysql redis-cli export unset local
	declare readonly let set shift return exit read trap umask ulimit wait alias unalias
`)

// runsNothing reports whether a program is known to run no other program named by
// its words, so that rm is only an argument in: grep rm file.
func runsNothing(program string) bool {
	_, found := slices.BinarySearch(quiet(), programName(program))
	return found
}

// exactPrograms lists programs that delete, overwrite or send data, or run their
// arguments, so that approving one use of them approves no other. Their versions,
// such as lua5.4, and interpreters count too: see [exactProgram].
var exactPrograms = wordList(`
	. 7z aa-exec ansible ansible-playbook ant ar aria2c asdf ash at awk aws az bash batch blkdiscard bmake buildah bunx
	bwrap cdk chattr chgrp chmod chown chpasswd chroot chsh conda cp cpio createdb crictl crontab cryptsetup csh csi ctr
	curl dash dd direnv ditto dlv doas docker doctl dropdb ed eksctl elvish emacs entr env eval ex exec fakechroot
	fakeroot faketime fdisk find firejail firewall-cmd fish flock fly fsck ftp fuser gawk gcloud gdb gh glab gmake gnuplot
	gpg groupadd groupdel groupmod grunt gs guix gulp halt hdparm helm http httpie https ifconfig insmod install invoke ip
	ip6tables iptables java k9s kill killall kotlin ksh kubectl latex launchctl lein less lftp linode lldb ln losetup
	ltrace lua lualatex lvremove lxc m4 mail mailx mamba man mawk maxima meson mise mkfs mkswap modprobe mongo mongoimport
	mongosh mono more mount mv mysql mysqldump nano nawk nc ncat netcat nft ninja nix nmap node nodejs nohup nox npx
	nsenter nvim nvm octave open openssl openvpn original-awk osascript packer parallel parted pass passwd patch pax
	pdflatex perf perl pg_dump php pkexec pkill podman poweroff powershell proot psql pulumi pwsh pyenv python python2
	python3 qemu rbenv reboot redis-cli remake renice rm rmdir rmmod route rr rscript rsync ruby runuser rustup sage sam
	sbt scp screen script sed sendmail serverless service setcap setfacl setsid sftp sgdisk sh shred shutdown skaffold
	socat source sqlite3 sqlplus ssh ssh-add ssh-copy-id ssh-keygen start stdbuf strace su sudo swapoff sysctl systemctl
	systemd-run tar tclsh tcsh tee telnet terraform tex tftp tilt timeout tmux tofu tox truncate ts-node tsx ufw umount
	unlink unshare unzip useradd userdel usermod vagrant valgrind vi vim virsh visudo volta watch wg wget wget2 wine
	wipefs xargs xdg-open xelatex xh zip zsh
`)

// exactProgram reports whether the approval of a program's use applies only to
// the exact command.
func exactProgram(word string) bool {
	name := programName(word)
	return slices.Contains(exactPrograms(), name) || slices.Contains(exactPrograms(), family(word)) ||
		!shell.Subcommands(name) && shell.Interprets(name)
}

// exactSubcommand reports whether some arguments of a subcommand destroy,
// overwrite, publish, install or configure what runs later, so that its approval
// applies only to the exact command.
func exactSubcommand(program, sub string) bool {
	return slices.Contains(exactAnywhere(), sub) || slices.Contains(exactOf, program+" "+sub)
}

var exactAnywhere = wordList(`
	autoremove bisect branch checkout clean clone config credential delete del deploy destroy difftool drop eval filter-branch filter-repo gc hook
	i install mergetool nuke prune publish purge push rebase reflog release remote remove reset restore rm rollback set stash submodule switch tag
	tool un uninstall unlink unpublish update-ref worktree yank
`)

var exactOf = []string{
	"bun add", "cargo add", "go get", "pnpm add", "poetry add", "tmux new", "uv add", "uv pip", "uv tool", "yarn add", "yarn dlx", "yarn global",
}

// runners lists subcommands that run their arguments.
var runners = []string{"run", "exec", "x", "dlx", "create", "init", "start", "generate"}

// suggested returns the words of a prefix that would allow a part and similar
// ones: the program, and its subcommand if it has any. For programs and
// subcommands whose effect depends on their arguments, and after an option before
// the subcommand, these are all words.
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
	case exactProgram(words[0]):
		return words
	case !shell.Subcommands(program):
		return words[:1]
	case isOption(words[1]) || slices.Contains(runners, words[1]) || exactSubcommand(program, words[1]):
		return words
	}
	return words[:2]
}
