/** Receipts verified without this project's code: the documented Python example, and PyJWT. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { findPython, runPython, skipWithoutPython } from '../support/python.ts'
import {
  ANSWERS,
  claimsFor,
  flipByte,
  keySetOf,
  makeReceiptKey,
  receiptFor,
  type TestKey,
} from '../support/signed-receipt.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { needProgram } from '../support/programs.ts'

const PROGRAM = fileURLToPath(new URL(import.meta.resolve('#root/test/examples/verify_receipt.py')))
const PYTHON_MS_MAX = 60_000

describe('[5.9.5] a receipt in Python', function () {
  this.timeout(PYTHON_MS_MAX)
  let key: TestKey
  let directory: string

  before(async () => {
    key = await makeReceiptKey()
    directory = await makeTemporaryDirectory()
  })

  const textsOf = (answer: (typeof ANSWERS)[string]) => [
    JSON.stringify(answer),
    receiptFor(key, answer),
    JSON.stringify(keySetOf(key)),
  ]

  async function filesOf(texts: string[]): Promise<string[]> {
    const paths = texts.map((_, index) => join(directory, `${index}`))
    await Promise.all(paths.map((path, index) => writeFile(path, texts[index] ?? '')))
    return paths
  }

  before(async function () {
    await skipWithoutPython(this)
  })

  for (const [name, answer] of Object.entries(ANSWERS))
    it(`verifies for the ${name}`, async () => {
      const { code, stdout, stderr } = await runPython([PROGRAM, ...(await filesOf(textsOf(answer)))])
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
      expect(JSON.parse(stdout)).to.deep.equal(claimsFor(answer))
    })

  it('does not verify for a changed text', async () => {
    const texts = textsOf(ANSWERS['lookup'] ?? expect.fail('no answer'))
    // One program checks all changed texts, because each start of Python takes long.
    const changed = texts.flatMap((text, index) =>
      Array.from({ length: 12 }, (_, step) => {
        const at = Math.floor(((step + 0.5) * Buffer.byteLength(text)) / 12)
        return texts.map((each, other) => (other === index ? flipByte(text, at, 1) : each))
      }),
    )
    const script = [
      `import importlib.util, json, sys`,
      `spec = importlib.util.spec_from_file_location("example", ${JSON.stringify(PROGRAM)})`,
      `example = importlib.util.module_from_spec(spec)`,
      `spec.loader.exec_module(example)`,
      `for answer, receipt, keys in json.load(sys.stdin):`,
      `    try:`,
      `        example.verify_receipt(example.parse(answer), receipt, example.parse(keys))`,
      `        print("accepted", answer, receipt, keys)`,
      `    except Exception:`,
      `        print("refused")`,
    ].join('\n')
    const run = await runPython(['-c', script], { stdin: JSON.stringify([...changed, texts]) })
    const lines = run.stdout.trim().split('\n')
    expect(run.stderr).to.equal('')
    expect(lines.slice(0, -1)).to.deep.equal(changed.map(() => 'refused'))
    expect(lines.at(-1)).to.match(/^accepted/)
  })

  it('verifies with PyJWT', async function () {
    const answer = ANSWERS['lookup'] ?? expect.fail('no answer')
    const python = needProgram(this, 'PyJWT', await findPython(['jwt', 'cryptography']))
    const script = `import json, jwt, sys
receipt, jwk = json.load(sys.stdin)
print(json.dumps(jwt.decode(receipt, jwt.PyJWK(jwk).key, algorithms=["ES256"])))`
    const stdin = JSON.stringify([receiptFor(key, answer), key.jwk])
    const { stdout, stderr } = await runPython(['-c', script], { stdin, python })
    expect(stderr).to.equal('')
    expect(JSON.parse(stdout)).to.deep.equal(claimsFor(answer))
  })
})
