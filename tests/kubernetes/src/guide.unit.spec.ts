import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readGuide } from './guide.ts'

const guide = readGuide(path.resolve(import.meta.dirname, '../../..'))

describe('readGuide', () => {
  it.each([
    ['Install', 'kubectl create namespace'],
    ['Install', 'kubectl create secret'],
    ['Install', 'kubectl get secret'],
    ['Install', 'helm install'],
    ['Install', 'helm test'],
    ['Keys of the Secret', 'rollout restart'],
    ['The workspace file', 'kubectl create secret'],
    ['Scale', '--force-conflicts'],
    ['Upgrade and roll back', 'helm upgrade'],
    ['Upgrade and roll back', 'rollout pause'],
  ])('finds the commands that the test of the cluster runs: %s, %s', (heading, containing) => {
    expect(guide.commands(heading, containing)).toMatch(/^\S.*\n$/s)
  })

  it('finds the values, without the indentation of the list', () => {
    expect(parse(guide.values('Install'))).toHaveProperty('kafka.brokers')
    expect(parse(guide.values('The workspace file'))).toHaveProperty('organizations.0.projects.0.keys')
  })

  it('names what the guide lacks', () => {
    expect(() => guide.commands('Install', 'helm destroy')).toThrow('commands with helm destroy under Install')
    expect(() => guide.inText('helm destroy')).toThrow('helm destroy')
  })
})
