import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

interface Manifest {
  readonly dependencies?: object
  readonly publishConfig?: { readonly provenance?: boolean }
}

describe('a release, as SECURITY.md promises', () => {
  it.each(['client', 'web', 'web-form'])('publishes %s with provenance and without dependencies', (name) => {
    const { dependencies = {}, publishConfig } = JSON.parse(read(`packages/${name}/package.json`)) as Manifest
    expect([Object.keys(dependencies), publishConfig?.provenance]).toEqual([[], true])
  })

  it('pins the images of others, then builds its own with an SBOM and provenance', () => {
    const { jobs } = parse(read('.github/workflows/release.yaml')) as {
      readonly jobs: { readonly image: { readonly steps: readonly { readonly run?: string }[] } }
    }
    const commands = jobs.image.steps.map(({ run = '' }) => run).join('\n')
    expect(commands).toMatch(/pnpm pin-images[^]*docker buildx build .*--provenance=mode=max --sbom=true/)
  })

  it('runs no install script except for those that pnpm-workspace.yaml names', () => {
    const settings = parse(read('pnpm-workspace.yaml')) as Readonly<Record<string, unknown>>
    expect(Object.keys(settings['allowBuilds'] as object)).not.toContain('*')
    expect(settings).not.toHaveProperty('dangerouslyAllowAllBuilds')
  })

  it('is tested by the command of the README', () => {
    expect(read('.github/workflows/release.yaml')).toContain('uses: ./.github/workflows/ci.yaml')
    expect(read('.github/workflows/ci.yaml')).toMatch(/^ *- run: \.ci\/run$/m)
    const [, command = 'none'] = /^exec (.+)$/m.exec(read('.ci/run')) ?? []
    expect(read('README.md').split('\n')).toContain(command)
  })
})
