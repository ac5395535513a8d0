/** Returns whether the page is hidden. */
export function isHidden(): boolean {
  return document.visibilityState === 'hidden'
}
