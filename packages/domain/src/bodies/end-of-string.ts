const BACKSLASH = 0x5c

/** Returns the end of the string that begins at a quote. Most of a body is strings, which `indexOf` skips quickly. */
export function endOfString(json: string, beginsAt: number): number {
  for (let end = json.indexOf('"', beginsAt + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return json.length
}
