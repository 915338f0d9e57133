package shell

import "strings"

// subcommandPrograms lists the programs that [Subcommands] knows.
const subcommandPrograms = " git go npm pnpm yarn bun deno docker podman nerdctl docker-compose kubectl oc helm cargo rustup pip pip3 uv poetry pipenv pdm rye hatch" +
	" conda apt apt-get brew dnf yum pacman apk snap flatpak systemctl journalctl launchctl gh glab hg svn jj fossil terraform tofu pulumi aws gcloud az flyctl heroku" +
	" vercel netlify firebase wrangler bundle gem rails rake mix dotnet nuget composer artisan flutter dart swift buf make just task gradle gradlew mvn bazel nx turbo" +
	" lerna vagrant multipass ansible nix direnv mise asdf pre-commit golangci-lint buildah skopeo minikube kind k3d argocd flux istioctl openssl ip nmcli tmux" +
	" screen supervisorctl redis-cli consul vault nomad packer service loginctl timedatectl hostnamectl fettle "

// Subcommands reports whether the first operand of a program is a subcommand, as
// with git: approving one use of it then covers only that subcommand.
func Subcommands(program string) bool {
	return program != "" && !strings.Contains(program, " ") && strings.Contains(subcommandPrograms, " "+program+" ")
}
