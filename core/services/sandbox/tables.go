package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// homePaths are the paths in a home directory that commands may read, if they exist.
var homePaths = [...]string{
	// Toolchains and the programs that users install.
	".local/bin", ".local/lib", ".local/share/uv/python", ".local/share/uv/tools", ".local/share/pipx", ".local/share/pnpm", ".local/share/mise", ".local/share/fnm",
	".local/share/virtualenvs", "bin", "sdk", "go", "goroot", ".gvm", ".goenv", ".cargo/bin", ".cargo/env", ".cargo/config.toml", ".cargo/registry", ".cargo/git",
	".rustup", ".nvm", ".fnm", ".volta", ".n", ".nodenv", ".npm-global", ".yarn/bin", ".yarn/releases", ".bun/bin", ".deno/bin", ".pyenv", ".rye/shims", ".rye/py", ".rye/self", ".rye/tools", ".pixi/bin", ".pixi/envs",
	".conda", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".asdf", ".rbenv", ".rvm", ".gem/ruby", ".bundle/cache", ".sdkman/candidates", ".jenv", ".jabba",
	".m2/repository", ".m2/wrapper", ".gradle/wrapper", ".ghcup", ".cabal/bin", ".cabal/packages", ".stack/programs", ".opam", ".elan", ".juliaup", ".julia/packages", ".julia/artifacts", ".julia/compiled", ".julia/environments", ".julia/registries", ".julia/juliaup", ".swiftly",
	".dotnet/dotnet", ".dotnet/host", ".dotnet/sdk", ".dotnet/shared", ".dotnet/packs", ".dotnet/templates", ".dotnet/sdk-manifests", ".dotnet/tools", ".nuget/packages", ".nix-profile", ".linuxbrew", ".zig", ".zvm", ".krew/bin",
	// Configuration without secrets.
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".config/go/env", ".editorconfig", ".clang-format", ".tool-versions", ".python-version",
	".node-version", ".nvmrc", ".config/pip/pip.conf", ".config/mise/config.toml", ".inputrc",
}

// hiddenInHome are the paths in a home directory that commands do not see, although a parent is in
// homePaths: keys of publishers.
var hiddenInHome = [...]string{".opam/plugins/opam-publish"}

// hiddenDirs are the directories that commands see empty, except for chosen paths in them, besides
// the user's home directory: other home directories, sockets and the files of other programs.
var hiddenDirs = [...]string{
	"/home", "/root", "/run", "/var/run", "/tmp", "/var/tmp", "/dev", "/mnt/wslg",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/lxd", "/var/lib/incus", "/var/lib/libvirt", "/var/spool/cron",
}

// Toolchains returns the paths in a home directory that commands may read in addition to
// [Rules.Readable]: those of a fixed table, and the directories in a PATH. They need not exist.
func Toolchains(home, path string) (paths []string) {
	for _, p := range homePaths {
		paths = append(paths, filepath.Join(home, p))
	}
	for _, p := range filepath.SplitList(path) {
		if p = filepath.Clean(p); p != home && Below(home, p) && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// Below reports whether path is dir or lies in it. Both are clean and absolute.
func Below(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}
