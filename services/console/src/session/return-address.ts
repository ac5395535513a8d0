/** Addresses of the console are shorter. It must fit in a cookie. */
const MAX_CHARACTERS = 1_500

/** Returns the page to show after a sign-in: the wanted one, if it is a page below `base`, which ends with a slash. */
export function returnAddress(base: URL, wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > MAX_CHARACTERS || !URL.canParse(wanted, base.href)) return base.href
  const { origin, pathname, href } = new URL(wanted, base)
  const isBelow = origin === base.origin && pathname.startsWith(base.pathname)
  const isApi = pathname.slice(base.pathname.length).toLowerCase().startsWith('api/')
  return isBelow && !isApi ? href : base.href
}
