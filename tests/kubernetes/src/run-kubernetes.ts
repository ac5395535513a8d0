/** `pnpm test:kubernetes`: installs the chart on a real API server that this program builds. */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findHelm } from '@nextvisit/chart/find-helm'
import { throwAwayFolder } from '@nextvisit/testing/own-parts'
import { buildPrograms, VERSIONS } from './build-programs.ts'
import { checkInstall } from './check-install.ts'
import { checkMistakes } from './check-mistakes.ts'
import { checkReleases } from './check-releases.ts'
import { checkScale } from './check-scale.ts'
import { checkUpgrade } from './check-upgrade.ts'
import { createChecks } from './checks.ts'
import { readGuide } from './guide.ts'
import { type Cluster, startCluster } from './start-cluster.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')
const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const HELP = `Usage: npx -y pnpm test:kubernetes [options]

Installs, upgrades, scales, evicts, rolls back and uninstalls the Helm chart on a real Kubernetes ${VERSIONS.kubernetes}: API server, etcd,
controllers and scheduler. KWOK plays the nodes and the pods. The commands and values are those of docs/guides/kubernetes.md.

Needs Go 1.26 or later in the PATH, 7 GB of disk and 1 GB of memory. The first run builds the programs from Go modules, which
takes about 15 minutes on two idle cores; they stay in the cache of the user (~/.cache/nextvisit). docs/guides/test.md has measured times.

  --build       only build the programs
  --keep        leave the cluster running after the checks, until Ctrl-C, and print its KUBECONFIG
  --bare        make no checks; with --keep, an empty cluster for trying something out
  --help

It does not show probes of a kubelet, the enforcement of network policies, or the image: no container runs.

Exits with 0 if every check passed, 1 if not or if a program could not be built or started, 2 if the arguments are invalid.`

const LIMITS = `
Not shown: no container runs here, so neither the image, its processes and their probes, nor the enforcement of network policies was
tested. KWOK made pods ready and let commands succeed. CRDs of KEDA, Prometheus, External Secrets and the Gateway API validated the
objects; their programs did not run.`

async function main(): Promise<number> {
  const options = readOptions()
  if (typeof options === 'string') {
    console.error(options)
    return 2
  }
  if (options.help) {
    console.log(HELP)
    return 0
  }
  const helm = await findHelm()
  const built = await buildPrograms((line) => console.log(line))
  if (options.build) return 0

  const folder = await throwAwayFolder()
  let cluster: Cluster | undefined
  try {
    const startedAt = performance.now()
    cluster = await startCluster({ built, helm, checkout: CHECKOUT, folder })
    console.log(`✓ the cluster runs, after ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`)
    for (const [name, run] of [['Helm', cluster.helm] as const, ['Helm', cluster.helm3] as const])
      console.log(`  ${name} ${(await run(['version', '--short'])).stdout.trim()}`)
    const checks = createChecks()
    const context = { cluster, checks, guide: readGuide(CHECKOUT) }
    if (!options.bare) {
      await checkInstall(context)
      await checkMistakes(context)
      await checkUpgrade(context)
      await checkScale(context)
      await checkReleases(context)
    }
    console.log(LIMITS)
    const { passed, failed } = checks.counts()
    console.log(`\n${passed} passed, ${failed} failed`)
    if (options.keep) await keep(cluster, folder)
    return failed > 0 ? 1 : 0
  } finally {
    await cluster?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns a sentence about the fault instead, if the arguments are invalid. */
function readOptions() {
  try {
    const boolean = { type: 'boolean', default: false } as const
    const { values } = parseArgs({ options: { build: boolean, keep: boolean, bare: boolean, help: boolean } })
    return values
  } catch (error) {
    return `${(error as Error).message}\n\n${HELP}`
  }
}

async function keep({ kubeconfig }: Cluster, folder: string): Promise<void> {
  console.log(`\nThe cluster runs until Ctrl-C:\n  export KUBECONFIG=${kubeconfig} PATH=${folder}/bin:$PATH`)
  await new Promise<void>((resolve) => {
    for (const signal of SIGNALS) process.off(signal, interrupt).once(signal, resolve)
  })
}

/** Ends this process, and with it the compiler and the processes of the cluster. */
function interrupt(): void {
  process.exit(130)
}

for (const signal of SIGNALS) process.once(signal, interrupt)
process.exit(
  await main().catch((error: Error) => {
    console.error('code' in error ? error.message : error)
    return 1
  }),
)
