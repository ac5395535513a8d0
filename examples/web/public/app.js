import { createNextvisit } from '@nextvisit/web'
import '@nextvisit/web-form'

const { host, key } = await (await fetch('/config.json')).json()
const parameters = new URLSearchParams(location.search)
// In your application: the signed-in user, and the signature that your server computed for them.
const userName = parameters.get('user') ?? 'ada'

// Only traits that a page may decide: anyone can read the key and change them. Your server sets the others, such as a plan.
const nextvisit = createNextvisit({ host, key, userName, traits: { lastPage: location.pathname } })

// Forms with content: the element shows them, sends the answers, and goes on after a reload.
const element = document.querySelector('nextvisit-form')
element.setAttribute('display', parameters.get('display') ?? 'popover')
element.client = nextvisit

// Forms without content: the page draws them.
nextvisit.onForm(({ feedbackId, content }) => {
  console.info(`Form ${feedbackId}`)
  if (content) return
  document.querySelector('dialog code').textContent = feedbackId
  document.querySelector('dialog').showModal()
})
void nextvisit.visit()

async function buy() {
  const result = await nextvisit.track('Checkout Completed', { total: 120.5 })
  document.querySelector('output').textContent =
    result.outcome === 'answered' ? result.answer.message : JSON.stringify(result)
}
document.querySelector('button').addEventListener('click', () => void buy())

// Acts as a single-page application: links change the URL without loading a page.
const showPage = () => (document.querySelector('h1').textContent = location.pathname === '/' ? 'Home' : 'Basket')
for (const link of document.querySelectorAll('a')) {
  link.addEventListener('click', (event) => {
    event.preventDefault()
    history.pushState(null, '', link.getAttribute('href') + location.search)
    showPage()
  })
}
addEventListener('popstate', showPage)
showPage()

// Exposes the client in the browser's console.
globalThis.nextvisit = nextvisit
