/** `pnpm pin-images`: writes the digests that the registry has now behind the tags in docker-compose.yml and infra/Dockerfile. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { foreignImages, pinImages } from './pinned-images.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const FILES = ['docker-compose.yml', 'infra/Dockerfile']
const run = promisify(execFile)

/** Asks the registry for the digest of the image's index, which covers all platforms. */
async function digestOf(image: string): Promise<readonly [image: string, digest: string]> {
  const inspect = ['buildx', 'imagetools', 'inspect', image, '--format', '{{.Manifest.Digest}}']
  const { stdout } = await run('docker', inspect).catch((cause: Error & { readonly stderr?: string }) => {
    throw new Error(`The digest of ${image} is unknown: ${cause.stderr?.trim() || cause.message}`, { cause })
  })
  return [image, stdout.trim()]
}

try {
  const texts = await Promise.all(FILES.map((file) => readFile(path.join(ROOT, file), 'utf8')))
  const digests = new Map(await Promise.all([...new Set(texts.flatMap(foreignImages))].map(digestOf)))
  const pinned = texts.map((text) => pinImages(text, digests))
  await Promise.all(FILES.map((file, index) => writeFile(path.join(ROOT, file), pinned[index] ?? '')))
  for (const [image, digest] of digests) console.log(`✓ ${image}@${digest}`)
} catch (error) {
  console.error(`✗ ${(error as Error).message}`)
  process.exitCode = 1
}
