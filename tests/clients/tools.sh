# The clients that tests/clients.sh and tests/team.sh run, installed below the target directory and first on the PATH.
# Both source this file, and name the target directory as `target`.

CLAUDE=2.1.330
CODEX=0.169.0
GEMINI=0.61.0
COPILOT=1.0.102
QWEN=0.24.4
OPENCODE=1.18.33
NODE=24.21.0 # for the clients and for what is beside this file

for needed in npm git; do
    command -v $needed >/dev/null || { echo "$needed is needed" >&2; exit 2; }
done

mkdir -p "$target"
tools=$(cd "$target" && pwd)/clients-$CLAUDE-$CODEX-$GEMINI-$COPILOT-$QWEN-$OPENCODE-$NODE
if [ ! -e "$tools/complete" ]; then
    echo "installing the clients into $tools (about 2 GB, once)"
    mkdir -p "$tools"
    npm install --prefix "$tools" --no-audit --no-fund --loglevel=error "node@$NODE" \
        "@anthropic-ai/claude-code@$CLAUDE" "@openai/codex@$CODEX" "@google/gemini-cli@$GEMINI" "@github/copilot@$COPILOT" "@qwen-code/qwen-code@$QWEN" \
        "opencode-ai@$OPENCODE"
    touch "$tools/complete"
fi
PATH=$tools/node_modules/node/bin:$tools/node_modules/.bin:$PATH
