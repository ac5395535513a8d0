import { processInfo } from '@nextvisit/cli/process-info'

const CHECK_EVERY_MS = 1_000

/**
 * Calls back once when npx, pnpm or a shell between them and us is gone. A killed launcher notifies nobody, and the stack
 * would continue unnoticed. The launcher's death is visible because its child gets another parent.
 */
export function watchLaunchers(onGone: () => void): void {
  const launched = launchedProcesses()
  const timer = setInterval(() => {
    if (launched.every(({ pid, parent }) => processInfo(pid)?.parent === parent)) return
    clearInterval(timer)
    onGone()
  }, CHECK_EVERY_MS).unref()
}

/** This process and its ancestors up to, but without, the outermost npx, npm or pnpm. Its parent may end. */
function launchedProcesses(): readonly { readonly pid: number; readonly parent: number }[] {
  const chain: { readonly pid: number; readonly parent: number }[] = []
  let launched = 0
  for (let pid = process.pid, info = processInfo(pid); info !== undefined && info.parent > 1; ) {
    chain.push({ pid, parent: info.parent })
    pid = info.parent
    info = processInfo(pid)
    if (info !== undefined && /\b(npm|npx|pnpm)\b/.test(info.command)) launched = chain.length
  }
  return chain.slice(0, launched)
}
