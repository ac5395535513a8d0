import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createBrotliDecompress } from 'node:zlib'
import { cached } from '@nextvisit/local-stack'

/** A Chromium for Linux x64. `libraries` is a folder of shared libraries that machines without a desktop lack. */
interface PackagedChromium {
  readonly executablePath: string
  readonly libraries: string
}

/**
 * Unpacks the Chromium of `@sparticuz/chromium` into the cache, once per version. The package itself unpacks into /tmp,
 * where parallel runs use each other's unfinished files.
 */
export async function packagedChromium(): Promise<PackagedChromium> {
  const packageFolder = path.resolve(fileURLToPath(import.meta.resolve('@sparticuz/chromium')), '../..')
  const packageJson = await readFile(path.join(packageFolder, 'package.json'), 'utf8')
  const { version } = JSON.parse(packageJson) as { readonly version: string }
  const folder = await cached(`chromium-${version}`, async (unfinished) => {
    const libraries = path.join(unfinished, 'libraries.tar')
    await Promise.all([
      inflate(path.join(packageFolder, 'bin/chromium.br'), path.join(unfinished, 'chromium')),
      inflate(path.join(packageFolder, 'bin/al2023.tar.br'), libraries),
    ])
    await promisify(execFile)('tar', ['-xf', libraries, '-C', unfinished])
    await rm(libraries)
  })
  return { executablePath: path.join(folder, 'chromium'), libraries: path.join(folder, 'lib') }
}

function inflate(from: string, to: string): Promise<void> {
  return pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to, { mode: 0o755 }))
}
