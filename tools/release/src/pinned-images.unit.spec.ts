import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { foreignImages, pinImages } from './pinned-images.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const [OLD, NEW] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`]
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

describe('the digests of images', () => {
  it('belong to each image of others in Compose and in the Dockerfile, and to none of our own', () => {
    expect(foreignImages(read('docker-compose.yml')).map(nameOf)).toEqual(['apache/kafka', 'postgres', 'redis'])
    expect(foreignImages(read('infra/Dockerfile')).map(nameOf)).toEqual(['node'])
  })

  it('follow the tags, and replace earlier digests', () => {
    const text = `  image: nginx:1.29\n  image: nextvisit\nFROM node:24-slim@${OLD} AS base\nFROM base AS app\n`
    const digests = new Map([
      ['nginx:1.29', NEW],
      ['node:24-slim', NEW],
    ])
    expect(pinImages(text, digests)).toBe(
      `  image: nginx:1.29@${NEW}\n  image: nextvisit\nFROM node:24-slim@${NEW} AS base\nFROM base AS app\n`,
    )
  })

  it.each([undefined, '', 'sha256:abc', `${NEW} `])('are refused if they are none: %j', (digest) => {
    const digests = new Map(digest === undefined ? [] : [['nginx:1.29', digest]])
    expect(() => pinImages('image: nginx:1.29', digests)).toThrow('nginx:1.29 has no digest')
  })
})

function nameOf(image: string): string {
  return image.split(':')[0] ?? ''
}
