import { processInfo } from './process-info.ts'

const CHECK_EVERY_MS = 1_000

/**
 * Calls back once when npx, pnpm or a shell between them and us is gone: killed, they tell nobody, and what was started
 * at the terminal would run on unseen. Their death shows in their child, which gets another parent.
 */
export function watchLaunchers(onGone: () => void): void {
  const launched = launchedProcesses()
  const timer = setInterval(() => {
    if (launched.every(({ pid, parent }) => processInfo(pid)?.parent === parent)) return
    clearInterval(timer)
    onGone()
  }, CHECK_EVERY_MS).unref()
}

/** Ourselves and our ancestors up to the outermost npx, npm or pnpm, which is left out: its parent may go. */
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
