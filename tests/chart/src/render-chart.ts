import { execFile } from 'node:child_process'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { throwAwayFolder } from '@nextvisit/testing/own-parts'
import { parse, parseAllDocuments } from 'yaml'
import { findHelm } from './find-helm.ts'

export const CHECKOUT = path.resolve(import.meta.dirname, '../../..')
export const CHART = path.join(CHECKOUT, 'infra/helm/nextvisit')
export const NAMESPACE = 'feedback'

/** An object that the chart renders, as far as specs read all kinds alike. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: unknown
  readonly data?: Readonly<Record<string, string>>
}

/** Runs Helm. Returns its output; rejects with it, if it fails. */
export async function helm(args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(await findHelm(), args, { cwd: CHECKOUT, maxBuffer: 2 ** 26 })
  running.child.stdin?.end(input)
  const { stdout } = await running.catch((error: { readonly stdout: string; readonly stderr: string }) => {
    throw new Error(`helm ${args.join(' ')}\n${error.stdout}${error.stderr}`)
  })
  return stdout
}

/** Returns what `helm template` prints for these values. */
export function renderText(values: object, release = 'nextvisit', options: readonly string[] = []): Promise<string> {
  const args = ['template', release, CHART, '--namespace', NAMESPACE, '--values', '-', ...options]
  return helm(args, JSON.stringify(values))
}

/** Returns the objects of the chart for these values. */
export async function renderChart(values: object, release?: string): Promise<readonly KubernetesObject[]> {
  const documents = parseAllDocuments(await renderText(values, release))
  return documents.flatMap((document) => (document.toJS() as KubernetesObject | null) ?? [])
}

/** Returns what Helm prints after an installation. `helm template` leaves it out, so a copy of the chart renders it as a value. */
export async function renderNotes(values: object): Promise<string> {
  const folder = await throwAwayFolder()
  try {
    await cp(CHART, folder, { recursive: true })
    const notes = await readFile(path.join(CHART, 'templates/NOTES.txt'), 'utf8')
    const template = `{{- define "notes" -}}${notes}{{- end -}}\nnotes: {{ include "notes" . | toJson }}\n`
    await writeFile(path.join(folder, 'templates/notes.yaml'), template)
    const args = ['template', 'nextvisit', folder, '--values', '-', '--show-only', 'templates/notes.yaml']
    return (parse(await helm(args, JSON.stringify(values))) as { readonly notes: string }).notes
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args: readonly string[]
  readonly env: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: {
      readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional?: boolean }
    }
  }[]
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly resources: { readonly limits?: { readonly memory?: string } }
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[]
}

export interface PodSpec {
  readonly securityContext: object
  readonly automountServiceAccountToken: boolean
  readonly enableServiceLinks: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly restartPolicy?: string
  readonly containers: readonly [Container]
}

/** Returns the events of a hook of Helm; undefined if the object is none. */
export function hookOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.['helm.sh/hook']
}

/** Returns labels and annotations of the pod of a Deployment, a Job or a Pod. */
export function podMetadataOf({ kind, metadata, spec }: KubernetesObject): Partial<KubernetesObject['metadata']> {
  if (kind === 'Pod') return metadata
  return (spec as { readonly template: { readonly metadata: Partial<KubernetesObject['metadata']> } }).template.metadata
}

/** Returns the pod of a Deployment, a Job or a Pod; undefined for another kind. */
export function podOf({ kind, spec }: KubernetesObject): PodSpec | undefined {
  if (kind === 'Pod') return spec as PodSpec
  return kind === 'Deployment' || kind === 'Job'
    ? (spec as { readonly template: { readonly spec: PodSpec } }).template.spec
    : undefined
}
