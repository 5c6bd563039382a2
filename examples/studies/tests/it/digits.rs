//! The images, their wrong labels and their changes, and what is refused.

use std::path::PathBuf;

use burn::tensor::Device;
use pergrad_studies::classifier::numbers;
use pergrad_studies::digits::{Augment, Batch, Digits, DigitsError, DigitsSettings};
use pergrad_studies::random::Random;

/// A file that is gone when the test is.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("pergrad_digits_{name}_{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn load(&self, train: usize) -> Result<(Digits, Digits), DigitsError> {
        Digits::load(&DigitsSettings {
            data: Some(self.0.clone()),
            ..DigitsSettings::of(train)
        })
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn refused(name: &str, text: &str) -> String {
    File::new(name, text).load(1).unwrap_err().to_string()
}

#[test]
fn every_digit_is_for_training_or_for_testing() {
    let (train, test) = Digits::load(&DigitsSettings::of(1000)).unwrap();
    assert_eq!((train.len(), test.len()), (1000, 797));
    assert_eq!((train.side(), train.classes()), (8, 10));
    let ink = |digits: &Digits| -> f64 {
        let images = (0..digits.len()).flat_map(|at| digits.image(at).to_vec());
        images.map(|x| f64::from(x) * 16.0).sum()
    };
    let all = smartcore::dataset::digits::load_dataset();
    assert_eq!(
        ink(&train) + ink(&test),
        all.data.iter().map(|x| f64::from(*x)).sum::<f64>()
    );
    let again = Digits::load(&DigitsSettings::of(1000)).unwrap();
    assert_eq!((train, test), again);
}

#[test]
fn a_wrong_label_is_another_one_and_it_is_known_which_they_are() {
    let (clean, _) = Digits::load(&DigitsSettings::of(200)).unwrap();
    let corrupt = |share| {
        let mut given = clean.clone();
        let corrupted = given.corrupt(share, &mut Random::new(3));
        (given, corrupted)
    };
    let (given, corrupted) = corrupt(0.05);
    assert_eq!(corrupted.iter().filter(|c| **c).count(), 10);
    let labels = given.labels().iter().zip(clean.labels());
    let changed: Vec<bool> = labels.map(|(a, b)| a != b).collect();
    assert_eq!(changed, corrupted);
    assert!(given.labels().iter().all(|label| *label < 10));
    assert_eq!(corrupt(0.0).0, clean);
}

#[test]
fn a_moved_image_is_the_same_image_elsewhere() {
    let file = File::new("moved", "0,0,0,0,0,9,0,0,0,0\n1,0,0,0,0,9,0,0,0,0\n");
    let (train, _) = file.load(1).unwrap();
    let augment = Augment {
        shift: 1,
        noise: 0.0,
    };
    let mut random = Random::new(1);
    let images = train.augmented(&[0; 200], augment, &mut random, &Device::default());
    let pixels = numbers(images.images);
    let mut places = [0; 9];
    for image in pixels.chunks(9) {
        assert_eq!(image.iter().sum::<f64>(), 1.0);
        places[image.iter().position(|x| *x == 1.0).unwrap()] += 1;
    }
    assert!(places.iter().all(|count| *count > 0), "{places:?}");
    let still = Augment {
        shift: 0,
        noise: 0.0,
    };
    let pixels = |batch: Batch| numbers(batch.images);
    assert_eq!(
        pixels(train.augmented(&[0], still, &mut random, &Device::default())),
        pixels(train.batch(&[0], &Device::default()))
    );
}

#[test]
fn a_file_with_or_without_names_is_read() {
    let rows = "1, 0, 2, 4, 0\n0, 1, 1, 1, 1\n\n2, 4, 4, 4, 4\n";
    let read = |name, text: &str| File::new(name, text).load(2).unwrap();
    let (train, test) = read("bare", rows);
    assert_eq!((train.len(), test.len(), train.classes()), (2, 1, 3));
    assert_eq!(
        read("names", &format!("label,a,b,c,d\n{rows}")),
        (train, test)
    );
}

#[test]
fn what_holds_no_images_is_refused_with_the_way_out() {
    let missing = DigitsSettings {
        data: Some("no/such/file.csv".into()),
        ..DigitsSettings::of(1)
    };
    let error = Digits::load(&missing).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read `no/such/file.csv`"),
        "{error}"
    );
    assert!(error.contains("leave `--data` out"), "{error}");

    let error = refused("label", "0,1\nfive,1\n");
    assert!(
        error.starts_with("line 2, field 1: expected a label"),
        "{error}"
    );
    let error = refused("pixel", "0,1,2,3,NaN\n");
    assert!(
        error.starts_with("line 1, field 5: expected a pixel"),
        "{error}"
    );
    let error = refused("square", "0,1,2,3\n");
    assert!(
        error.starts_with("line 1: 3 pixels make no square"),
        "{error}"
    );
    let error = refused("none", "0\n1\n");
    assert!(error.starts_with("line 1: 0 pixels"), "{error}");
    let error = refused("sizes", "0,1\n1,1,2,3,4\n");
    assert_eq!(error, "line 2: 4 pixels, but the images before it have 1");
    for (name, text) in [("empty", ""), ("one", "1,1\n"), ("class", "0,1\n0,2\n")] {
        assert!(refused(name, text).contains("are needed"), "{name}");
    }
    for train in [0, 1797] {
        let error = Digits::load(&DigitsSettings::of(train)).unwrap_err();
        assert!(matches!(error, DigitsError::Split { .. }));
        assert!(
            error
                .to_string()
                .contains("below the number of images, 1797")
        );
    }
}
