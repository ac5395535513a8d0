const INDENT = '  '

/**
 * A JSON text on several lines. Only white space outside of texts changes: numbers stay as they were written, and a member
 * that is there twice is shown twice.
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

/** Deep values are not indented without end. */
function lineAt(depth: number): string {
  return `\n${INDENT.repeat(Math.min(depth, 20))}`
}
