/** Requests a quote without a payment and explains it. Text of the service is set with textContent only, never as HTML. */
const form = document.querySelector('form')
const operation = form.elements.operation
const answer = document.querySelector('#answer')
const status = document.querySelector('#answer-status')
const rows = document.querySelector('#answer-rows')
const raw = document.querySelector('#answer-raw')

const REQUESTS = {
  lookup: ({ number }) => [`/api/v1/company/${encodeURIComponent(number)}`, {}],
  search: ({ q }) => [`/api/v1/search?${new URLSearchParams({ q })}`, {}],
  resolve: ({ name, eircode }) => [
    '/api/v1/resolve',
    {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(eircode === '' ? { name } : { name, eircode }),
    },
  ],
}

function showFields() {
  for (const fields of form.querySelectorAll('fieldset')) {
    fields.hidden = fields.name !== operation.value
    fields.disabled = fields.hidden
  }
}

function decodeHeader(header) {
  const bytes = Uint8Array.from(atob(header), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

function explainQuote({ resource, accepts: [terms] }) {
  return [
    ['Operation', resource.description],
    ['Resource', `${resource.url} - must be the resource you requested`],
    ['Price', `${Number(terms.amount) / 1e6} USDC (${terms.amount} micro-USDC) - must be the published price`],
    ['Network', `${terms.network} - must be the network above`],
    ['Asset', `${terms.asset} - must be the network's USDC`],
    ['Receiver', `${terms.payTo} - must be pay_to of the metadata`],
    ['Valid for', `${terms.maxTimeoutSeconds} seconds`],
    ['To sign', `EIP-3009 transferWithAuthorization, domain "${terms.extra.name}" version ${terms.extra.version}`],
  ]
}

function showAnswer(sentence, pairs, value) {
  status.textContent = sentence
  rows.replaceChildren(
    ...pairs.map((pair) => {
      const row = document.createElement('tr')
      for (const [index, text] of pair.entries()) {
        const cell = document.createElement(index === 0 ? 'th' : 'td')
        if (index === 0) cell.scope = 'row'
        cell.textContent = text
        row.append(cell)
      }
      return row
    }),
  )
  raw.textContent = JSON.stringify(value, null, 2)
  answer.hidden = false
}

async function requestQuote() {
  const [path, request] = REQUESTS[operation.value](Object.fromEntries(new FormData(form)))
  const response = await fetch(path, { ...request, cache: 'no-store' })
  const body = await response.json()
  const header = response.headers.get('PAYMENT-REQUIRED')
  if (header === null)
    return showAnswer(`Status ${response.status}: ${body.error.message}`, [['Code', body.error.code]], body)
  const quote = decodeHeader(header)
  showAnswer(`Status ${response.status}: a quote. Nothing was charged.`, explainQuote(quote), quote)
}

operation.addEventListener('change', showFields)
form.addEventListener('submit', (event) => {
  event.preventDefault()
  requestQuote().catch(() => showAnswer('The service did not answer.', [], null))
})
showFields()
