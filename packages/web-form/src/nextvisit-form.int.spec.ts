import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FormPage, type FormPages, startFormPages, violationsOn } from '../test/form-pages.ts'
import { CONTENTS, offerOf } from '../test/offers.ts'
import type { FormElement } from './index.ts'

let pages: FormPages
let opened: FormPage | undefined
beforeAll(async () => {
  pages = await startFormPages()
})
afterEach(async () => {
  const { faults = [] } = opened ?? {}
  opened = undefined
  await pages.closeAll()
  if (faults.length > 0) throw new Error(`A page did what it may not: ${faults.join()}`)
})
afterAll(() => pages.stop())

async function open(options: Parameters<FormPages['open']>[0]): Promise<FormPage> {
  opened = await pages.open(options)
  return opened
}

const withElements = (...elements: readonly FormElement[]) => offerOf({ elements })
const PATIENTLY = { timeout: 5_000, interval: 20 }
const soon = <T>(read: () => T) => expect.poll(read, PATIENTLY)
/** Returns the description of the focused element, inside of the form, too. */
const focusIn = ({ page }: FormPage) =>
  page.evaluate(() => {
    const focused = document.activeElement?.shadowRoot?.activeElement ?? document.activeElement
    const text = focused instanceof HTMLInputElement ? focused.value : focused?.textContent
    return `${focused?.localName} ${text}`.trim()
  })

/** Presses keys, separated by spaces. */
async function press({ page }: FormPage, keys: string): Promise<void> {
  for (const key of keys.split(' ')) await page.keyboard.press(key)
}

describe.each(['en', 'ar'] as const)('a form in %s', (language) => {
  const offer = offerOf(CONTENTS[language], language)

  it('is answered by keyboard alone, through all types of elements', async () => {
    const form = await open({ offer })
    await press(form, 'Tab') // Close
    await press(form, 'Tab Space') // score: 0
    await press(form, 'ArrowDown ArrowDown ArrowDown')
    await press(form, 'Tab')
    await form.page.keyboard.type('Faster 🚀')
    await press(form, 'Tab ArrowDown') // stars: none is chosen before, so the second
    await press(form, 'Tab Space ArrowDown ArrowDown Tab') // plan: other, and its text
    await form.page.keyboard.type('Lifetime')
    await press(form, 'Tab Space Tab Space Tab') // uses: work, home
    await press(form, 'Tab Space') // contact
    await press(form, 'Tab')
    expect(await focusIn(form)).toMatch(/^a /)
    await press(form, 'Tab Enter')
    await soon(() => form.events).toEqual(['nextvisit-finished offer-1'])
    const { answers, ...rest } = form.sent.at(-1)!
    expect(rest).toEqual({ offerId: 'offer-1', formId: 'nps', revision: 3, language, status: 'finished' })
    expect(answers).toEqual({
      score: 3,
      reason: 'Faster 🚀',
      stars: 2,
      plan: { other: 'Lifetime' },
      uses: ['work', 'home'],
      contact: true,
    })
    expect(await focusIn(form)).toBe(`p ${CONTENTS[language].thanks}`)
    expect(form.sent.filter(({ status }) => status === 'finished')).toHaveLength(1)
  })

  it.each(['popover', 'inline'] as const)('has no violation that axe finds, as %s', async (display) => {
    for (const pageDirection of ['ltr', 'rtl'] as const) {
      const form = await open({ offer, display, pageDirection, context: { viewport: { width: 320, height: 600 } } })
      expect(await violationsOn(form.page)).toEqual([])
      // With messages, a condition that holds, and a text of the user's own.
      await form.page.getByRole('button', { name: /^(Send|إرسال)$/ }).click()
      await form.page.getByRole('radio', { name: '2' }).first().check()
      await form.page.getByRole('radio', { name: /Other|غير ذلك/ }).check()
      await form.page.getByRole('textbox', { name: CONTENTS[language].elements[1]!.label! }).fill('x'.repeat(21))
      await form.page.getByRole('button', { name: /^(Send|إرسال)$/ }).click()
      expect(await violationsOn(form.page)).toEqual([])
      await form.page.getByRole('checkbox').first().check()
      await form.page.getByRole('radio', { name: /Monthly|شهرية/ }).check()
      await form.page.getByRole('textbox', { name: CONTENTS[language].elements[1]!.label! }).fill('x')
      await form.page.getByRole('button', { name: /^(Send|إرسال)$/ }).click()
      await form.page.getByText(CONTENTS[language].thanks!).waitFor()
      expect(await violationsOn(form.page)).toEqual([])
      expect(form.faults).toEqual([])
      await pages.closeAll()
    }
  })

  it('has the direction of its language, not that of the page', async () => {
    const form = await open({ offer, display: 'inline', pageDirection: language === 'ar' ? 'ltr' : 'rtl' })
    const [first, last] = await Promise.all(
      ['0', '10'].map((name) => form.page.getByRole('radio', { name, exact: true }).boundingBox()),
    )
    expect(first!.x < last!.x).toBe(language === 'en')
    expect(await form.page.locator('nextvisit-form .form').getAttribute('lang')).toBe(language)
  })
})

describe('a form', () => {
  it('shows labels as texts, and follows only links with https', async () => {
    const markup = '<script>fault("script")</script><img src=x onerror=fault(1)>'
    const form = await open({
      offer: offerOf({
        title: markup,
        elements: [
          { id: 'plan', type: 'choice', label: markup, options: [{ id: 'a', label: `${markup} a` }] },
          { id: 'text', type: 'text', label: markup, maxLength: 9 },
          { id: 'consent', type: 'consent', label: markup },
          { id: 'link', type: 'link', label: markup, url: 'javascript:fault("link")' },
        ],
        thanks: markup,
      }),
    })
    const made = form.page.locator('nextvisit-form img, nextvisit-form script, nextvisit-form a[href]')
    expect(await form.page.locator('nextvisit-form a').count()).toBe(1)
    expect(await made.count()).toBe(0)
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.locator('nextvisit-form .thanks').getByText(markup).waitFor()
    expect(await made.count()).toBe(0)
  })

  it('names the fields of elements without labels', async () => {
    const options = [{ id: 'a', label: 'A' }]
    const form = await open({
      offer: withElements(
        { id: 'score', type: 'nps' },
        { id: 'reason', type: 'text', maxLength: 9, required: true },
        { id: 'stars', type: 'rating', scale: 10, required: true },
        { id: 'plan', type: 'choice', options, other: true },
        { id: 'uses', type: 'choices', options, required: true },
      ),
    })
    expect(await violationsOn(form.page)).toEqual([])
    await form.page.getByRole('button', { name: 'Send' }).click()
    expect(await violationsOn(form.page)).toEqual([])
    expect(await form.page.getByRole('radiogroup', { name: 'Your answer' }).count()).toBe(3)
  })

  it('is empty for an offer without content, and leaves out elements of a later version', async () => {
    const later = { id: 'later', type: 'slider', label: 'Slide' } as unknown as FormElement
    const form = await open({ offer: withElements(later, { id: 'stars', type: 'rating', scale: 3 }) })
    expect(await form.page.getByText('Slide').count()).toBe(0)
    await form.page.getByRole('radio', { name: '3' }).check()
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.sent.at(-1)?.answers).toEqual({ stars: 3 })
    await form.page.evaluate(() =>
      Object.assign(document.querySelector('nextvisit-form')!, { offer: { offerId: 'offer-2', formId: 'other' } }),
    )
    expect(await form.page.locator('nextvisit-form *').count()).toBe(0)
  })

  it('sends partial answers after each element, gathered, and the complete ones once', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    for (const name of ['1', '5', '9']) await form.page.getByRole('radio', { name, exact: true }).first().check()
    await soon(() => form.sent.map(({ answers }) => answers)).toEqual([{ score: 9 }])
    await form.page.getByRole('checkbox', { name: 'At work' }).check()
    await soon(() => form.sent.length).toBe(2)
    await form.page.getByRole('button', { name: 'Send' }).dblclick()
    await soon(() => form.events).toEqual(['nextvisit-finished offer-1'])
    expect(form.sent.map(({ status, answers }) => [status, answers])).toEqual([
      ['partial', { score: 9 }],
      ['partial', { score: 9, uses: ['work'] }],
      ['finished', { score: 9, uses: ['work'] }],
    ])
  })

  it('sends neither the answers of hidden elements nor invalid ones', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    const reason = form.page.getByRole('textbox', { name: 'How could we improve?' })
    await form.page.getByRole('radio', { name: '5', exact: true }).first().check()
    await reason.fill('é'.repeat(21))
    await reason.blur()
    await form.page.getByText('Use at most 20 characters.').waitFor()
    await soon(() => form.sent.map(({ answers }) => answers)).toEqual([{ score: 5 }])
    await reason.fill('🚀'.repeat(20))
    await reason.blur()
    await soon(() => form.sent.at(-1)?.answers).toEqual({ score: 5, reason: '🚀'.repeat(20) })
    await form.page.getByRole('radio', { name: '9', exact: true }).check()
    expect(await reason.isVisible()).toBe(false)
    await soon(() => form.sent.at(-1)?.answers).toEqual({ score: 9 })
    // The text is still there for a user who changes the score back.
    await form.page.getByRole('radio', { name: '6', exact: true }).check()
    await soon(() => form.sent.at(-1)?.answers).toEqual({ score: 6, reason: '🚀'.repeat(20) })
  })

  it('names each missing answer, describes its field by the message, and focuses the first', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    await form.page.getByRole('button', { name: 'Send' }).click()
    const score = form.page.getByRole('radiogroup', { name: 'How likely are you to recommend us? (required)' })
    expect(await score.getAttribute('aria-invalid')).toBe('true')
    expect(await score.getAttribute('aria-required')).toBe('true')
    expect(
      await score.evaluate((node) => node.querySelector(`#${node.getAttribute('aria-describedby')}`)?.textContent),
    ).toBe('Please answer this question.')
    await form.page.getByText('Choose at least 1.').waitFor()
    expect(await focusIn(form)).toBe('input 0')
    await press(form, 'Space')
    expect(await score.getAttribute('aria-invalid')).toBe(null)
    for (const box of await form.page.getByRole('checkbox').all()) await box.check()
    await form.page.getByRole('textbox', { name: 'Your answer' }).fill('Outside')
    await form.page.getByText('Choose at most 2.').waitFor()
    await form.page.getByRole('button', { name: 'Send' }).click()
    expect(form.events).toEqual([])
    await form.page.getByRole('checkbox', { name: 'Other' }).uncheck()
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.events).toEqual(['nextvisit-finished offer-1'])
  })

  it('says how many options may be chosen before it is sent, and describes their group by it', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    const uses = form.page.getByRole('group', { name: 'Where do you use it?' })
    const description = () =>
      uses.evaluate((node) => node.querySelector(`#${node.getAttribute('aria-describedby')}`)?.textContent)
    expect(await description()).toBe('Choose 1 to 2.')
    expect(await form.page.getByText('Choose 1 to 2.').isVisible()).toBe(true)
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByText('Choose at least 1.').waitFor()
    expect(await description()).toBe('Choose 1 to 2.')
    expect(await form.page.getByRole('radiogroup', { name: 'Which plan' }).getAttribute('aria-describedby')).toBe(null)
  })

  it('focuses the text of a clicked Other, and leaves the focus at options that keys choose', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    const option = (name: string) => form.page.getByText(name, { exact: true })
    await option('Other').first().click()
    await form.page.keyboard.type('Lifetime')
    await option('Other').last().click()
    await form.page.keyboard.type('Outside')
    await option('At home').click()
    expect(await focusIn(form)).toBe('input home')
    await option('Other').last().click()
    expect(await focusIn(form)).toBe('input *')
    await option('Yearly').click()
    await press(form, 'ArrowDown')
    expect(await focusIn(form)).toBe('input *')
    await press(form, 'Tab')
    expect(await focusIn(form)).toBe('input Lifetime')
    await form.page.getByRole('radio', { name: '9', exact: true }).check()
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.sent.at(-1)?.answers).toEqual({
      score: 9,
      plan: { other: 'Lifetime' },
      uses: ['home'],
    })
  })

  it('takes an Other without a text as no answer, unless the question is required', async () => {
    const options = [{ id: 'a', label: 'A' }]
    const form = await open({
      offer: withElements(
        { id: 'plan', type: 'choice', label: 'Plan', options, other: true, required: true },
        { id: 'next', type: 'choice', label: 'Next', options, other: true },
        { id: 'uses', type: 'choices', label: 'Uses', options, other: true },
      ),
    })
    const option = (question: string, name: string) =>
      form.page.locator('fieldset', { hasText: question }).getByLabel(name, { exact: true })
    for (const question of ['Plan', 'Next', 'Uses']) await option(question, 'Other').check()
    await option('Uses', 'A').check()
    await form.page.getByRole('button', { name: 'Send' }).click()
    expect(await form.page.locator('nextvisit-form .fault[aria-live]:not([hidden])').allTextContents()).toEqual([
      'Please answer this question.',
    ])
    expect(await focusIn(form)).toBe('input')
    await form.page.keyboard.type('Lifetime')
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.events).toEqual(['nextvisit-finished offer-1'])
    expect(form.sent.at(-1)?.answers).toEqual({ plan: { other: 'Lifetime' }, uses: ['a'] })
  })

  it('resumes after a reload, until it is finished', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    await form.page.getByRole('radio', { name: '4', exact: true }).first().check()
    await form.page.getByRole('radio', { name: 'Other' }).check()
    await form.page.getByRole('textbox', { name: 'Your answer' }).fill('Lifetime')
    await form.page.getByRole('checkbox', { name: 'At home' }).check()
    await form.page.getByRole('checkbox', { name: 'You may contact me' }).check()
    // Still being written when the page is left.
    await form.page.getByRole('textbox', { name: 'How could we improve?' }).fill('Slow')
    await form.page.reload()
    expect(await form.page.getByRole('textbox', { name: 'How could we improve?' }).inputValue()).toBe('Slow')
    expect(await form.page.getByRole('textbox', { name: 'Your answer' }).inputValue()).toBe('Lifetime')
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.events).toEqual(['nextvisit-finished offer-1'])
    expect(form.sent.at(-1)?.answers).toEqual({
      score: 4,
      reason: 'Slow',
      plan: { other: 'Lifetime' },
      uses: ['home'],
      contact: true,
    })
    expect(await form.page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
    await form.page.reload()
    await form.page.locator('nextvisit-form').waitFor({ state: 'attached' })
    expect(await form.page.locator('nextvisit-form form').count()).toBe(0)
  })

  it('that is not answered yet is shown again after a reload, until it is dismissed', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    await form.page.reload()
    await form.page.getByRole('button', { name: 'Close' }).click()
    await soon(() => form.events).toEqual(['nextvisit-dismissed offer-1'])
    expect(await form.page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
  })

  it('sends what waits when the page is left', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    await form.page.getByRole('radio', { name: '4', exact: true }).first().check()
    await form.page.evaluate(() => dispatchEvent(new Event('pagehide')))
    await expect.poll(() => form.sent.map(({ answers }) => answers), PATIENTLY).toEqual([{ score: 4 }])
  })

  it('hands over what waits when the page is hidden, before the client handles that', async () => {
    const form = await open({
      offer: offerOf(CONTENTS.en),
      before: `const send = globalThis.sendAnswer
        globalThis.order = []
        globalThis.sendAnswer = (answer) => (order.push('answered'), send(answer))
        document.addEventListener('visibilitychange', () => order.push('hidden'))`,
    })
    await form.page.getByRole('radio', { name: '4', exact: true }).first().check()
    await form.page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))`)
    expect(await form.page.evaluate('order')).toEqual(['answered', 'hidden'])
  })

  it('stays, with its answers, if they could not be sent', async () => {
    const form = await open({ offer: withElements({ id: 'stars', type: 'rating', scale: 3 }) })
    form.answerWith('rejected')
    await form.page.getByRole('radio', { name: '3' }).check()
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByRole('alert').getByText('Your answers could not be sent. Try again.').waitFor()
    expect(form.events).toEqual([])
    expect(form.faults.splice(0).join()).toContain('The gateway does not answer')
    form.answerWith('taken')
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByText('Your answers were sent.').waitFor()
    expect(form.sent.at(-1)).toMatchObject({ status: 'finished', answers: { stars: 3 } })
  })

  it('sends finished answers once, and says so, while the gateway does not answer', async () => {
    const form = await open({ offer: withElements({ id: 'stars', type: 'rating', scale: 3 }) })
    form.answerWith('never')
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByRole('button', { name: 'Sending…' }).click({ force: true })
    await press(form, 'Escape')
    expect(form.sent.map(({ status }) => status)).toEqual(['finished'])
    expect(form.events).toEqual([])
  })

  it('asks for a required consent with a yes and a no', async () => {
    const form = await open({
      offer: withElements({ id: 'contact', type: 'consent', label: 'May we call?', required: true }),
    })
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByText('Please answer this question.').waitFor()
    expect(await focusIn(form)).toBe('input true')
    expect(await violationsOn(form.page)).toEqual([])
    await press(form, 'ArrowDown')
    expect(await form.page.getByRole('radio', { name: 'No' }).isChecked()).toBe(true)
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.sent.at(-1)).toMatchObject({ status: 'finished', answers: { contact: false } })
  })

  it('uses the words that the page sets', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en), words: { send: 'Submit', missing: 'Needed.' } })
    await form.page.getByRole('button', { name: 'Submit' }).click()
    expect(await form.page.getByText('Needed.').count()).toBe(1)
  })

  it('has no animation for users who prefer less motion', async () => {
    for (const [reducedMotion, animation] of [
      ['reduce', 'none'],
      ['no-preference', 'appear'],
    ] as const) {
      const form = await open({ offer: offerOf(CONTENTS.en), context: { reducedMotion } })
      const frame = form.page.locator('nextvisit-form .form')
      expect(await frame.evaluate((node) => getComputedStyle(node).animationName)).toBe(animation)
    }
  })

  it('takes colours from custom properties of the page', async () => {
    const form = await open({
      offer: offerOf(CONTENTS.en),
      before: `const sheet = new CSSStyleSheet()
        sheet.replaceSync('nextvisit-form { --nextvisit-accent: rgb(0, 100, 0) }')
        document.adoptedStyleSheets = [sheet]`,
    })
    const button = form.page.getByRole('button', { name: 'Send' })
    expect(await button.evaluate((node) => getComputedStyle(node).backgroundColor)).toBe('rgb(0, 100, 0)')
  })
})

describe('a popover', () => {
  const FOCUS_BUY = `document.querySelector('button').focus()`

  it('takes the focus, and returns it when Escape dismisses it', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en), before: FOCUS_BUY })
    const dialog = form.page.getByRole('dialog', { name: 'Your opinion' })
    expect(await dialog.evaluate((node) => node.matches(':focus'))).toBe(true)
    await form.page.getByRole('radio', { name: '4', exact: true }).first().check()
    await press(form, 'Escape')
    expect(await focusIn(form)).toBe('button Buy')
    expect(await dialog.count()).toBe(0)
    await soon(() => form.events).toEqual(['nextvisit-dismissed offer-1'])
    await soon(() => form.sent.at(-1)).toMatchObject({ status: 'dismissed', answers: { score: 4 } })
    expect(await form.page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
  })

  it('returns the focus when it is closed after its end, without a second end', async () => {
    const form = await open({ offer: withElements({ id: 'why', type: 'text', maxLength: 9 }), before: FOCUS_BUY })
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByText('Your answers were sent.').waitFor()
    await press(form, 'Shift+Tab Enter')
    expect(await focusIn(form)).toBe('button Buy')
    expect(form.events).toEqual(['nextvisit-finished offer-1'])
    expect(form.sent.map(({ status }) => status)).toEqual(['finished'])
  })

  it('stays ended when it is moved, or its words change', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    await press(form, 'Escape')
    await soon(() => form.events).toEqual(['nextvisit-dismissed offer-1'])
    await form.page.evaluate(() => {
      const moved = document.querySelector('nextvisit-form') as HTMLElement & { words: object }
      document.body.append(moved)
      moved.words = { send: 'Submit' }
    })
    expect(await form.page.getByRole('dialog').count()).toBe(0)
    expect(await form.page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
  })

  it('keeps its answers, and returns the focus, after its words changed', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en), before: FOCUS_BUY })
    await form.page.getByRole('radio', { name: '4', exact: true }).first().check()
    await form.page.evaluate(() =>
      Object.assign(document.querySelector('nextvisit-form')!, { words: { send: 'Submit' } }),
    )
    expect(await form.page.getByRole('radio', { name: '4', exact: true }).first().isChecked()).toBe(true)
    await press(form, 'Escape')
    expect(await focusIn(form)).toBe('button Buy')
  })

  it('leaves the focus in a field in which the user writes', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en), before: `document.querySelector('input').focus()` })
    await form.page.keyboard.type('shoes')
    expect(await form.page.getByLabel('Search').inputValue()).toBe('shoes')
  })

  it('lets Escape end the composition of a character, and other keys reach the page', async () => {
    const form = await open({ offer: offerOf(CONTENTS.en) })
    await form.page.locator('nextvisit-form .form').dispatchEvent('keydown', { key: 'Escape', isComposing: true })
    expect(await form.page.getByRole('dialog').count()).toBe(1)
  })
})

describe('a form of the page’s client', () => {
  const short = withElements({ id: 'stars', type: 'rating', scale: 3 })

  it('is shown, sends its answers through the client, and resumes after a reload', async () => {
    const form = await open({ offer: short, by: 'client' })
    await form.page.getByRole('radio', { name: '3' }).check()
    await soon(() => form.sent).toMatchObject([{ offerId: 'offer-1', status: 'partial', answers: { stars: 3 } }])
    expect(form.sent[0]).not.toHaveProperty('content')
    await form.page.reload()
    expect(await form.page.getByRole('radio', { name: '3' }).isChecked()).toBe(true)
    await form.page.getByRole('button', { name: 'Send' }).click()
    await soon(() => form.events).toEqual(['nextvisit-finished offer-1'])
    expect(form.sent.at(-1)).toMatchObject({ status: 'finished', answers: { stars: 3 } })
  })

  it('keeps its answers if it is offered again', async () => {
    const form = await open({ offer: short, by: 'client' })
    await form.page.getByRole('radio', { name: '3' }).check()
    await form.page.evaluate(() => {
      const element = document.querySelector('nextvisit-form') as HTMLElement & { client: object; offer: object }
      const { client, offer } = element
      element.client = { ...client, onForm: (handle: (form: object) => void) => handle(offer) }
    })
    await form.page.reload()
    expect(await form.page.getByRole('radio', { name: '3' }).isChecked()).toBe(true)
  })

  it('ends if the gateway does not answer: the client keeps the answers, also over a reload', async () => {
    const form = await open({ offer: short, by: 'client' })
    form.answerWith('never')
    await form.page.getByRole('button', { name: 'Send' }).click()
    expect(await form.page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
    await form.page.getByText('Your answers were sent.').waitFor()
    expect(form.events).toEqual(['nextvisit-finished offer-1'])
  })

  it('stays if the gateway refuses the answers', async () => {
    const form = await open({ offer: short, by: 'client' })
    form.answerWith('rejected')
    await form.page.getByRole('button', { name: 'Send' }).click()
    await form.page.getByRole('alert').getByText('Your answers could not be sent. Try again.').waitFor()
    expect(form.faults.splice(0).join()).toContain('The gateway does not answer')
    expect(await form.page.evaluate(() => Object.keys(sessionStorage))).toHaveLength(1)
  })

  it('waits while another is open, and is not shown to another user', async () => {
    const form = await open({ offer: short, by: 'client' })
    const after = await form.page.evaluate(() => {
      interface Client {
        readonly onForm: (handle: (form: object) => void) => () => void
      }
      const element = document.querySelector('nextvisit-form') as HTMLElement & {
        client: object
        offer: { offerId: string }
      }
      const handlers: ((form: object) => void)[] = []
      const client: Client = { ...(element.client as Client), onForm: (handle) => (handlers.push(handle), () => {}) }
      element.client = client
      handlers[0]?.({ offerId: 'offer-2', formId: 'two', content: { elements: [] } })
      const { offerId } = element.offer
      const other = document.createElement('nextvisit-form') as typeof element
      other.client = { ...client, scope: 'nextvisit:other:' }
      document.body.append(other)
      return [offerId, other.shadowRoot?.childElementCount ?? 0, Object.keys(sessionStorage).length]
    })
    expect(after).toEqual(['offer-1', 0, 2])
  })
})

it('is defined after the page set its properties', async () => {
  const form = await open({
    offer: offerOf(CONTENTS.en),
    before: `const copy = document.querySelector('main').appendChild(document.createElement('nextvisit-form'))
      copy.remove()`,
  })
  const isUpgraded = await form.page.evaluate(() => {
    const Form = customElements.get('nextvisit-form') as CustomElementConstructor
    class Later extends Form {}
    const element = document.createElement('later-form') as HTMLElement & Record<string, unknown>
    const send = Promise.resolve.bind(Promise)
    Object.assign(element, {
      offer: { offerId: 'early', formId: 'f', content: { title: 'Early', elements: [] } },
      send,
    })
    document.body.append(element)
    customElements.define('later-form', Later)
    return element.shadowRoot?.textContent?.includes('Early') && element['send'] === send
  })
  expect(isUpgraded).toBe(true)
})
