import { execFile } from 'node:child_process'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cached, StackError } from '@nextvisit/local-stack'

const run = promisify(execFile)
const DOWNLOAD_WITHIN_MS = 300_000

/**
 * Returns a promtool: from the PATH, or from Debian's package `prometheus`, which is downloaded once and needs no root. Rejects with
 * a StackError that names the remedy if neither is possible.
 */
export async function findPromtool(): Promise<string> {
  if (await succeeds('promtool', '--version')) return 'promtool'
  if (!(await succeeds('apt-get', '--version')) || !(await succeeds('dpkg-deb', '--version'))) throw missing()
  return path.join(await cached(`promtool-debian-${process.arch}`, downloadFromDebian), 'promtool')
}

/** Uses the machine's lists of packages, or else lists of its own, which a user who is not root may update. */
async function downloadFromDebian(folder: string): Promise<void> {
  const own = path.join(folder, 'apt')
  const lists = [
    '-o',
    `Dir::State::Lists=${own}/lists`,
    '-o',
    `Dir::Cache=${own}/cache`,
    '-o',
    'APT::Sandbox::User=root',
  ]
  const apt = (...args: readonly string[]) =>
    run('apt-get', ['-qq', ...args], { cwd: folder, timeout: DOWNLOAD_WITHIN_MS })
  try {
    await apt('download', 'prometheus').catch(async () => {
      await Promise.all(
        ['lists/partial', 'cache/archives/partial'].map((of) => mkdir(path.join(own, of), { recursive: true })),
      )
      await apt(...lists, 'update')
      await apt(...lists, 'download', 'prometheus')
    })
    const archive = (await readdir(folder)).find((file) => file.endsWith('.deb')) ?? ''
    await run('dpkg-deb', ['--extract', archive, 'content'], { cwd: folder })
    await rename(path.join(folder, 'content/usr/bin/promtool'), path.join(folder, 'promtool'))
    await Promise.all(
      [archive, 'content', 'apt'].map((of) => rm(path.join(folder, of), { recursive: true, force: true })),
    )
  } catch (cause) {
    throw missing({ cause })
  }
}

function missing(options?: ErrorOptions): StackError {
  return new StackError(
    'REQUIREMENT_MISSING',
    'The alert rules need promtool, and this machine has neither it nor a Debian archive to download it from. Install Prometheus (Debian: apt install prometheus; macOS: brew install prometheus), so that promtool is in the PATH.',
    options,
  )
}

async function succeeds(command: string, ...args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  )
}
