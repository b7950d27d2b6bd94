"""`minigrad share`: the link, what is in it and what is not, its length, and what is refused."""

import json
import re

import pytest

from viz.viewer.links import text_of

from .command import PROGRAM, minigrad

SITE = "https://example.org/docs"
SECRET = PROGRAM.replace("rate = 0.1", 'password = "open sesame"  # a comment of the author\nrate = 0.1')
LAYERS = """
import minigrad as torch
from minigrad import nn

torch.manual_seed(0)
net = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(12)])
x = torch.randn(8, 32)
y = net(x).sum()
"""


def share(folder, *words, site=SITE):
    done = minigrad(folder, "share", *words, "--site", site)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def data(link):
    return json.loads(text_of(re.fullmatch(r"\S+/play\.html#r=([\w-]+)\n?", link)[1]))


@pytest.fixture
def secret(net):
    (net / "net.py").write_text(SECRET)
    return net


def test_the_link_is_alone_on_its_line_and_its_length_is_for_people(net):
    link, told = share(net, "net.py:loss")
    assert link.startswith(f"{SITE}/play.html#r=") and link.count("\n") == 1
    assert f"the link has {len(link) - 1:,} characters" in told
    assert [op["name"] for op in data(link)["ops"]] == ["mul", "tanh", "mul"]


def test_a_link_has_the_numbers_of_lines_and_no_text_of_the_program(secret):
    link, _ = share(secret, "net.py:loss")
    made = data(link)
    text = json.dumps(made)
    assert made["files"] == [{"name": "net.py", "lines": {}}]
    assert made["ops"][0]["at"] == [0, 9]
    for part in (str(secret), "/tmp", "sesame", "password", "comment", "requires_grad", "import"):
        assert part not in text, part
    lines = {line.strip() for line in SECRET.splitlines() if line.strip()}
    assert not [line for line in lines if json.dumps(line)[1:-1] in text]


def test_a_live_link_computes_from_labels_without_the_lines_of_reads(tmp_path):
    (tmp_path / "net.py").write_text(
        "import minigrad as torch\nw = torch.tensor(0.5, requires_grad=True)\ny = w * 2\n"
        "if y > 0:  # only a positive one\n    y = y * 3\n"
    )
    made = data(share(tmp_path, "net.py:y")[0])
    assert made["live"]["ops"]
    assert "positive" not in json.dumps(made) and "if y" not in json.dumps(made)


def test_the_program_is_in_the_link_on_request(secret):
    link, _ = share(secret, "net.py:loss", "--with-source")
    lines = data(link)["files"][0]["lines"]
    assert any("sesame" in line for line in lines.values())
    assert str(secret) not in json.dumps(data(link))


def test_a_record_file_gives_the_same_link_as_its_program(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "loss.json").returncode == 0
    assert data(share(net, "loss.json")[0])["ops"] == data(share(net, "net.py:loss")[0])["ops"]


def test_a_record_takes_no_options_of_a_run(net):
    assert minigrad(net, "render", "net.py:loss", "-o", "loss.json").returncode == 0
    done = minigrad(net, "share", "loss.json", "--grad", "2.0", "--site", SITE)
    assert done.returncode == 2 and "is a record" in done.stderr.decode()


def test_options_of_render_choose_the_call_and_the_seeds(net):
    made = data(share(net, "net.py:f", "--args", "tensor(3.0), tensor(0.25)", "-p", "forward")[0])
    assert made["passes"] == ["forward"]
    assert [value["all"] for value in made["values"][:2]] == [3.0, 0.25]
    seeded = data(share(net, "net.py:loss", "--grad", "2.0")[0])
    assert 2.0 in [value.get("all") for value in seeded["values"]]


def test_a_long_link_is_refused_with_the_numbers_and_each_way_makes_it_shorter(tmp_path):
    (tmp_path / "net.py").write_text(LAYERS)
    refused = minigrad(tmp_path, "share", "net.py:y", "--site", SITE)
    told = refused.stderr.decode()
    assert refused.returncode == 2 and not refused.stdout
    length = int(re.search(r"would have ([\d,]+) characters", told)[1].replace(",", ""))
    assert length > 32_000 and "32,000" in told and "--depth 1" in told and "--no-contents" in told
    for words in (["--depth", "1"], ["--no-contents"]):
        link, _ = share(tmp_path, "net.py:y", *words)
        assert len(link) < min(32_000, length / 4)


def test_a_folded_link_has_only_its_boxes(tmp_path):
    (tmp_path / "net.py").write_text(LAYERS)
    made = data(share(tmp_path, "net.py:y", "--depth", "1")[0])
    assert len(made["ops"]) == 2 and len(made["values"]) < 10
    assert isinstance(made["live"], str)  # the reason why its numbers cannot be changed


def test_without_contents_no_heat_map_and_nothing_to_compute_with(tmp_path):
    (tmp_path / "net.py").write_text(LAYERS)
    made = data(share(tmp_path, "net.py:y", "--no-contents")[0])
    assert "live" not in made and not any({"grid", "histogram"} & set(value) for value in made["values"])
    assert any("statistics" in value for value in made["values"])


def test_without_a_site_the_command_says_how_to_give_one(net):
    done = minigrad(net, "share", "net.py:loss", MINIGRAD_SITE="")
    told = done.stderr.decode()
    assert done.returncode == 2 and not done.stdout
    assert "--site" in told and "MINIGRAD_SITE" in told


def test_the_site_is_that_of_the_environment(net):
    done = minigrad(net, "share", "net.py:loss", MINIGRAD_SITE="https://grad.example/")
    assert done.stdout.decode().startswith("https://grad.example/play.html#r=")


@pytest.mark.parametrize("site", ["example.org", "javascript:alert(1)", "https://a b.org", "https://example.org/#x"])
def test_an_address_that_is_no_site_is_refused(net, site):
    done = minigrad(net, "share", "net.py:loss", "--site", site)
    assert done.returncode == 2 and "is not the address of a site" in done.stderr.decode()


def test_embed_prints_a_sandboxed_frame(net):
    frame, _ = share(net, "net.py:loss", "--embed")
    assert re.fullmatch(
        r'<iframe title="[^"<>]+" sandbox="allow-scripts allow-downloads"[^<>]* src="https://[^"<>]+"></iframe>\n',
        frame,
    )


def test_json_has_link_and_length(net):
    found = json.loads(share(net, "net.py:loss", "--json")[0])
    assert found["length"] == len(found["link"]) and data(found["link"])["ops"]
