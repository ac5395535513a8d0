import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { javaCommand } from './config.ts'
import { StackError } from './errors.ts'

const run = promisify(execFile)
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
const DOWNLOAD_WITHIN_MS = 300_000

/** Resolves to the version of the machine's Java, for example `17.0.15`, if it is 17 or newer. */
export async function java17(): Promise<string | undefined> {
  try {
    const { stderr } = await run(javaCommand(), ['-version'])
    const [, version, major] = /version "((\d+)[^"]*)"/.exec(stderr) ?? []
    return Number(major) >= 17 ? version : undefined
  } catch {
    return undefined
  }
}

/** Resolves to whether Maven is installed. Java 17 is checked separately. */
export async function hasMaven(): Promise<boolean> {
  return run('mvn', ['--version']).then(
    () => true,
    () => false,
  )
}

/** Copies the direct and indirect dependencies of a pom.xml, with these values of its properties, to the folder. */
export async function copyDependencies(
  pom: string,
  folder: string,
  properties: Readonly<Record<string, string>>,
): Promise<void> {
  const given = Object.entries(properties).map(([name, value]) => `-D${name}=${value}`)
  await maven(['--file', pom, `${DEPENDENCY_PLUGIN}:copy-dependencies`, `-DoutputDirectory=${folder}`, ...given])
}

/** Copies one jar (`group:artifact:version`) to the folder. */
export async function copyArtifact(artifact: string, folder: string): Promise<void> {
  await maven([`${DEPENDENCY_PLUGIN}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`])
}

async function maven(args: readonly string[]): Promise<void> {
  try {
    await run('mvn', ['--quiet', '--batch-mode', '-Dstyle.color=never', ...args], {
      cwd: '/',
      timeout: DOWNLOAD_WITHIN_MS,
    })
  } catch (cause) {
    const output = cause instanceof Error && 'stdout' in cause ? String(cause.stdout) : String(cause)
    const reason = output.split('\n').find((line) => line.includes('[ERROR]')) ?? 'no answer'
    throw new StackError(
      'DOWNLOAD_FAILED',
      `Maven could not download the files: ${reason.replace('[ERROR]', '').trim()}\nCheck the network (and Maven's settings), then start again.`,
      { cause },
    )
  }
}
