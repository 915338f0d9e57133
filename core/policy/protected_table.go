package policy

import "strings"

// ProtectedPath is a row of the table of protected paths: files that determine
// which code runs later, or which instructions a later session follows. docs/policy-commands.md
// has the table without the rows of a session: configured names and directories of the
// user.
type ProtectedPath struct {
	// Names are the names of the files and directories. A relative one consists
	// of one or more names, separated by slashes, that occur consecutively
	// anywhere in a path; its last name may end in *, which stands for any
	// characters. An absolute one is a directory or a file. Everything below is
	// protected too. Letter case is ignored.
	Names []string
	What  string // the files, for example "git's own files"
	Why   string // how they cause something to run later, as a clause
}

// protectedRows is the table. To protect a path, add a name here and in
// docs/policy-commands.md. A path belongs here if something runs or follows it without
// being requested by name. It does not contain files that a named command reads,
// such as Makefile and package.json, nor .gitattributes, which only selects
// programs that git's configuration names.
var protectedRows = []ProtectedPath{
	{strings.Fields(".git *.git git~1 .gitmodules .githooks"), "git's own files",
		"git runs the hooks and the programs that they name"},
	{strings.Fields(".hg .hgrc .jj .sl .svn .bzr .repo"), "files of other version control systems",
		"they run the hooks and the programs that they name"},
	{strings.Fields(".env*"), "environment files",
		"sessions, shells and programs take their environment from them"},
	{strings.Fields("AGENTS.md AGENTS.override.md FETTLE.md GEMINI.md QWEN.md CLAUDE.md CLAUDE.local.md .cursorrules .windsurfrules .clinerules .roorules* .goosehints .github/copilot-instructions.md .github/instructions"),
		"instruction files", "later sessions follow what they say"},
	{strings.Fields(".fettle .gemini .claude .codex .cursor .qwen .opencode opencode.json* .windsurf .continue .agents .mcp.json .roo .kilocode .kiro .junie .amazonq .augment .trae .crush* crush.json .aider.conf.y*"), "settings of agents",
		"later sessions take rules, hooks and servers from them"},
	{strings.Fields(".husky .lefthook lefthook.y* .lefthook.y* .pre-commit-config.y* .overcommit.y* .simple-git-hooks*"), "git hooks of the project",
		"git runs them on the next commit"},
	{strings.Fields(".vscode .vs .idea .fleet .zed .helix .nova .devcontainer .devcontainer.json *.code-workspace *.sublime-project .exrc .nvimrc .nvim.lua .vimrc _vimrc .lvimrc .vimspector.json .dir-locals.el .dir-locals-2.el .luarc.json*"), "settings of editors",
		"editors run the tasks and the programs that they name"},
	{strings.Fields(".github/workflows .github/actions .gitlab-ci.yml .gitlab/ci .circleci .travis.yml Jenkinsfile azure-pipelines* .azure-pipelines bitbucket-pipelines.yml .drone.y* .woodpecker* .buildkite appveyor.yml .appveyor.yml .cirrus.yml .semaphore .teamcity .gitea/workflows .forgejo/workflows"),
		"definitions of CI jobs", "CI runs the commands in them"},
	{strings.Fields(".profile .login .logout .inputrc .bashrc .bash_* .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .config/fish .config/powershell"),
		"start-up files of shells", "shells run them when they start"},
	{strings.Fields(".gdbinit .lldbinit .pdbrc .irbrc .pryrc .ghci .iex.exs .Rprofile .Renviron .ocamlinit"), "start-up files of interpreters and debuggers",
		"these run them when they start in the directory"},
	{strings.Fields(".tool-versions mise.toml .mise.toml mise.*.toml .mise.*.toml .mise .config/mise devenv.nix flake.nix shell.nix rust-toolchain rust-toolchain.toml"), "selection of tools",
		"shims, and shells that enter the directory, run the programs that they name"},
	{strings.Fields(".ssh .gitconfig .config/git .config/autostart .config/systemd .local/bin .netrc _netrc .npmrc .yarnrc* .yarn/releases .yarn/plugins .yarn/sdks .pnpmfile.* .pypirc .bundle/config .bundle/plugin .mvn .cargo/config .cargo/config.toml"), "configuration of the user's programs",
		"programs run, or trust, what it names"},
}
