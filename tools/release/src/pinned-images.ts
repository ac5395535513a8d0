/** Matches an image of another publisher: `image: nginx:1.29` of Compose, or `FROM node:24 AS base`. A pinned one counts, too. */
const FOREIGN_IMAGE =
  /^(?<before>\s*(?:image: |FROM ))(?<image>[\w./-]+:[\w.-]+)(?:@sha256:[\da-f]{64})?(?<after>.*)$/gm

/** Returns the images that a Compose file or a Dockerfile names, without digests. Own images and stages have no tag. */
export function foreignImages(text: string): readonly string[] {
  return Array.from(text.matchAll(FOREIGN_IMAGE), ({ groups }) => groups?.['image'] ?? '')
}

/** Returns the text with the digest behind each tag. An earlier digest is replaced. Throws a RangeError without a digest of an image. */
export function pinImages(text: string, digests: ReadonlyMap<string, string>): string {
  return text.replaceAll(FOREIGN_IMAGE, (...match) => {
    const { before, image, after } = match.at(-1) as Readonly<Record<'before' | 'image' | 'after', string>>
    const digest = digests.get(image)
    if (digest === undefined || !/^sha256:[\da-f]{64}$/.test(digest)) throw new RangeError(`${image} has no digest.`)
    return `${before}${image}@${digest}${after}`
  })
}
