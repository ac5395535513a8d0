import { readFileSync } from 'node:fs'
import path from 'node:path'

/** A block of code of a guide, without the indentation of its list. */
interface Block {
  readonly heading: string
  readonly language: string
  readonly text: string
}

/** docs/guides/kubernetes.md, as far as a reader runs it. */
export interface Guide {
  /** Returns the first block of commands under a heading that contains a text. Throws if there is none. */
  readonly commands: (heading: string, containing: string) => string
  /** Returns the first block of values under a heading. Throws if there is none. */
  readonly values: (heading: string) => string
  /** Returns a command that stands in a sentence. Throws if it does not. */
  readonly inText: (command: string) => string
}

export function readGuide(checkout: string): Guide {
  const text = readFileSync(path.join(checkout, 'docs/guides/kubernetes.md'), 'utf8')
  const blocks = blocksIn(text)
  const find = (what: string, isIt: (block: Block) => boolean): string => {
    const found = blocks.find(isIt)
    if (!found) throw new RangeError(`The guide has no ${what}`)
    return found.text
  }
  return {
    commands: (heading, containing) =>
      find(
        `commands with ${containing} under ${heading}`,
        (block) => block.heading === heading && block.language === '' && block.text.includes(containing),
      ),
    values: (heading) =>
      find(`values under ${heading}`, (block) => block.heading === heading && block.language === 'yaml'),
    inText: (command) => {
      if (!text.includes(`\`${command}\``)) throw new RangeError(`The guide does not name ${command}`)
      return command
    },
  }
}

function blocksIn(text: string): readonly Block[] {
  const blocks: Block[] = []
  let heading = ''
  let open: { readonly indent: number; readonly language: string; readonly lines: string[] } | undefined
  for (const line of text.split('\n')) {
    const [, indent, language] = /^( *)```(\w*)$/.exec(line) ?? []
    if (open) {
      if (indent === undefined) open.lines.push(line.slice(open.indent))
      else {
        blocks.push({ heading, language: open.language, text: `${open.lines.join('\n')}\n` })
        open = undefined
      }
    } else if (indent !== undefined) open = { indent: indent.length, language: language ?? '', lines: [] }
    else heading = /^#{2,3} (.+)$/.exec(line)?.[1] ?? heading
  }
  return blocks
}
