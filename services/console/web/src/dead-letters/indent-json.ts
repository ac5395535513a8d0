const INDENT = '  '

/**
 * Indents a JSON text. Only white space between tokens changes: numbers keep their spelling, and duplicate members are
 * kept.
 */
export function indentJson(json: string): string {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) ?? []
  let depth = 0
  let text = ''
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1]
    if (token === '[' || token === '{') {
      depth += 1
      text += next === ']' || next === '}' ? token : `${token}${lineAt(depth)}`
    } else if (token === ']' || token === '}') {
      depth -= 1
      const before = tokens[index - 1]
      text += before === '[' || before === '{' ? token : `${lineAt(depth)}${token}`
    } else if (token === ',') text += `,${lineAt(depth)}`
    else text += token === ':' ? ': ' : token
  }
  return text
}

/** Limits the indentation of deep values. */
function lineAt(depth: number): string {
  return `\n${INDENT.repeat(Math.min(depth, 20))}`
}
