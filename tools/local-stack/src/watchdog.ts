import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'

/**
 * A process or container that must end when this process ends: a process id with its signal, or a container's name.
 */
type Charge = { readonly pid: number; readonly signal: 'TERM' | 'QUIT' | 'KILL' } | { readonly container: string }

/**
 * Script of the watchdog. Each line of input is the whole list of charges, so the last line counts and a new watchdog needs
 * no history. The end of the input means that this process has ended, even by `kill -9`, which runs no signal handler.
 */
const SCRIPT = `
PATH=$PATH:/usr/bin:/bin
trap '' INT TERM HUP QUIT
charges=''
while read -r line; do charges=$line; done
for charge in $charges; do
  case $charge in
    container:*) docker rm --force --volumes "\${charge#container:}" ;;
    *) kill -s "\${charge%%:*}" "\${charge#*:}" ;;
  esac
done
for second in 1 2 3; do
  alive=''
  for charge in $charges; do
    case $charge in container:*) ;; *) kill -s 0 "\${charge#*:}" && alive=yes ;; esac
  done
  [ -n "$alive" ] || exit 0
  sleep 1
done
for charge in $charges; do
  case $charge in container:*) ;; *) kill -s KILL "\${charge#*:}" ;; esac
done
`

const charges = new Set<Charge>()
let watchdog: ChildProcess | undefined

/** Ties the charge's lifetime to this process. Returns a function to call after the charge has ended by itself. */
export function watchOver(charge: Charge): () => void {
  charges.add(charge)
  tellWatchdog()
  return () => {
    charges.delete(charge)
    tellWatchdog()
  }
}

function tellWatchdog(): void {
  watchdog ??= startWatchdog()
  const line = [...charges].map((charge) =>
    'container' in charge ? `container:${charge.container}` : `${charge.signal}:${charge.pid}`,
  )
  watchdog.stdin?.write(`${line.join(' ')}\n`)
}

/**
 * Starts one watchdog for all charges, in its own process group so that Ctrl-C does not reach it. It does not keep this
 * process alive.
 */
function startWatchdog(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.unref()
  const input = child.stdin as Socket
  input.unref()
  input.on('error', () => {}) // a killed watchdog; the next one gets the list below
  child.once('exit', () => {
    watchdog = undefined
    if (charges.size > 0) tellWatchdog()
  })
  return child
}
